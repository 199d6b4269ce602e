"""Three hosts with Patroni, PostgreSQL and etcd, as docs/postgresql.md prints their files."""

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from sqlalchemy import URL

from . import processes
from .databases import autocommit
from .documents import blocks
from .ports import free_port
from .postgres import find_programs, unprivileged
from .processes import Program
from .programs import require
from .waiting import eventually

GUIDE, NODES, WAY = "docs/postgresql.md", "The nodes", "The way to the primary"
# The hosts of the guide: the last numbers of their addresses by their names.
HOSTS = {"db1": 21, "db2": 22, "db3": 23}
# The ports of the guide: etcd's for clients and for its members, PostgreSQL's and Patroni's.
PORTS = ("2379", "2380", "5432", "8008")
PASSWORD = "secret"
# What is replaced in the printed settings, so that a cluster starts and decides within seconds.
# Newer versions of Patroni take no `ttl` below 20.
HASTY = {
    "ETCD_ENABLE_V2": "ETCD_HEARTBEAT_INTERVAL=50\nETCD_ELECTION_TIMEOUT=500\nETCD_ENABLE_V2",
    "ttl: 20": "ttl: 5",
    "loop_wait: 5": "loop_wait: 1",
    "retry_timeout: 5": "retry_timeout: 2",
    "- data-checksums": "- data-checksums\n    - no-sync",
    "- checkpoint: fast": "- checkpoint: fast\n    - no-sync",
    "  parameters:\n    unix": "  parameters:\n    fsync: 'off'\n    unix",
}


@dataclass
class Host:
    """A host of the cluster, and what runs there."""

    folder: Path
    address: str
    ports: Mapping[str, int]
    etcd: Program
    patroni: Program

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def url(self) -> str:
        """The database of PostgreSQL's superuser on this host."""
        port = self.ports["5432"]
        url = URL.create("postgresql+psycopg", "postgres", PASSWORD, self.address, port, "postgres")
        return url.render_as_string(hide_password=False)

    def start(self) -> None:
        self.etcd.start()
        self.patroni.start()

    def stop(self) -> None:
        """Stop all programs as a host does that is shut down."""
        self.patroni.stop()
        self.etcd.stop()

    def kill(self) -> None:
        """Kill all processes at once."""
        processes.kill(self.folder)
        self.stop()

    def end(self) -> None:
        """End all processes, in whichever state they are."""
        processes.end(self.folder)
        self.stop()

    def is_primary(self) -> bool:
        """Ask Patroni as HAProxy does."""
        return bool(self.get("primary"))

    def get(self, path: str) -> dict[str, Any]:
        """Return what Patroni answers; nothing if that is an error, or if it does not answer."""
        try:
            answer = requests.get(f"{self._patroni}/{path}", timeout=2)
        except requests.RequestException:
            return {}
        return answer.json() if answer.ok else {}

    def switch_over(self) -> None:
        """Let the synchronous standby become the primary in place of this one."""
        body = {"leader": self.name}
        requests.post(f"{self._patroni}/switchover", json=body, timeout=60).raise_for_status()

    def configure(self, **settings: Any) -> None:
        """Change settings of the whole cluster, once etcd takes them."""
        url = f"{self._patroni}/config"
        eventually(lambda: requests.patch(url, json=settings, timeout=60).ok)

    @property
    def _patroni(self) -> str:
        return f"http://{self.address}:{self.ports['8008']}"


@dataclass
class PatroniCluster:
    """The hosts, and the ports that they have in place of those of the guide."""

    hosts: list[Host]
    ports: Mapping[str, int]

    def url(self, number: int = 0) -> str:
        """Return a URL that the guide prints for the service: of all hosts, or that of HAProxy."""
        return localize(blocks(GUIDE, "sh", WAY)[number], self.ports).split("=", 1)[1].strip()

    def primary(self) -> Host:
        """Return the host with the primary, once there is one."""
        return eventually(lambda: next((host for host in self.hosts if host.is_primary()), None))

    def standbys(self) -> list[Host]:
        """Return the other hosts on which PostgreSQL runs."""
        return [host for host in self.hosts if host.get("replica")]

    def wait_until_whole(self) -> Host:
        """Return the host with the primary, once all others follow, and one can take over."""
        return eventually(lambda: next(filter(_is_followed, self.hosts), None))

    def create_database(self) -> None:
        """Create the role and the database of the service."""
        with autocommit(self.primary().url) as connection:
            connection.exec_driver_sql(f"CREATE ROLE ostiary LOGIN PASSWORD '{PASSWORD}'")
            connection.exec_driver_sql("CREATE DATABASE ostiary OWNER ostiary")


def _is_followed(host: Host) -> bool:
    if not host.is_primary():
        return False
    standbys = [standby["state"] for standby in host.get("patroni").get("replication", [])]
    roles = [member["role"] for member in host.get("cluster").get("members", [])]
    return standbys == ["streaming"] * (len(HOSTS) - 1) and "sync_standby" in roles


@contextmanager
def patroni_cluster(replaced: Mapping[str, str]) -> Iterator[PatroniCluster]:
    """Start a cluster, some of its settings replaced; yield it once it has a primary."""
    for program in ("patroni", "etcd"):
        require(program)
    require("PostgreSQL", find_programs() is not None)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-cluster-")).resolve()
    folder.chmod(0o755)
    ports = {port: free_port() for port in PORTS}
    cluster = PatroniCluster([_prepare(folder / name, ports, replaced) for name in HOSTS], ports)
    try:
        for host in cluster.hosts:
            host.start()
        cluster.primary()
        yield cluster
    finally:
        for host in cluster.hosts:
            host.end()
        shutil.rmtree(folder)


def _prepare(folder: Path, ports: Mapping[str, int], replaced: Mapping[str, str]) -> Host:
    """Write the printed files of the host whose name the folder has."""
    etcd, patroni = folder / "etcd", folder / "patroni"
    for part in (etcd, patroni):
        part.mkdir(parents=True)
        user = unprivileged(part)
    [variables], [settings] = blocks(GUIDE, "sh", NODES), blocks(GUIDE, "yaml", NODES)
    places = {
        "/var/lib/postgresql/15/ostiary": f"{patroni}/data",
        "/usr/lib/postgresql/15/bin": str(find_programs()),
        "/var/run/postgresql": str(patroni),
    }
    for old, new in {**replaced, **places}.items():
        assert old in settings + variables, old
        settings, variables = settings.replace(old, new), variables.replace(old, new)
    file = patroni / "config.yml"
    file.write_text(localize(_for_host(settings, folder.name), ports))
    given = shlex.split(localize(_for_host(variables, folder.name), ports))
    environment = dict(variable.split("=", 1) for variable in given)
    return Host(
        folder,
        f"127.0.0.{HOSTS[folder.name]}",
        ports,
        Program(["etcd"], etcd, user, {**environment, "ETCD_DATA_DIR": f"{etcd}/data"}),
        Program(["patroni", str(file)], patroni, user),
    )


def _for_host(text: str, name: str) -> str:
    """Replace the name and the address of the first host, but in the lists of all."""
    lines = text.splitlines(keepends=True)
    own = {"db1": name, "10.0.0.21": f"10.0.0.{HOSTS[name]}"}
    for old, new in own.items():
        lines = [line if "10.0.0.22" in line else line.replace(old, new) for line in lines]
    return "".join(lines)


def localize(text: str, ports: Mapping[str, int]) -> str:
    """Replace the addresses and ports of the guide."""
    text = text.replace("10.0.0.", "127.0.0.")
    return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: str(ports[found[0]]), text)
