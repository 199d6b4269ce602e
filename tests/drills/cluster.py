"""Two instances behind nginx, on a cluster of Patroni whose servers fail and return."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from tests.support.databases import connected, migrate
from tests.support.haproxy import haproxy
from tests.support.live import Server, serve
from tests.support.nginx import balancer
from tests.support.patroni import HASTY, Host, PatroniCluster, patroni_cluster
from tests.support.ports import free_port

from .failures import BRIEF, FAILURES, OF_PATRONI, OF_PRIMARY, Failure, Scene
from .load import load
from .report import Report

# A run of fewer seconds is the short form, of a cluster that notices sooner what fails.
LONG = 10
# Ways of the service to its servers, and what happens to them in the long form: where Patroni
# fails alone, all hosts are not enough to tell who is the primary.
HOSTS, HAPROXY, STANDBYS = "all hosts", "HAProxy", "reads of standbys"
WAYS: dict[str, dict[str, Failure]] = {
    HOSTS: FAILURES,
    HAPROXY: {**FAILURES, **OF_PATRONI},
    STANDBYS: OF_PRIMARY,
}
# Seconds for an answer: STATEMENT_TIMEOUT and 5 s, after which a read is repeated on a new
# connection, for which each host has 2 s; some more on a busy machine.
MAX_ANSWER = 25
# Seconds in which a client gets no write acknowledged.
MAX_PAUSE = 60
# Connections of the service that have sent a query: a standby is also asked what it is, and left.
CONNECTED = text("SELECT pid FROM pg_stat_activity WHERE usename = 'ostiary' AND query != ''")


@dataclass
class Service:
    """Two instances of the service, nginx before them and the cluster behind them."""

    cluster: PatroniCluster
    way: str
    instances: list[Server]
    url: str

    def survive(self, name: str, failure: Failure) -> Report:
        """Let something fail under load; report what the clients notice."""
        report = Report(f"{self.way}: {name}")
        email = f"{self.way} {name}@example.com".replace(" ", ".")
        primary = self.cluster.wait_until_whole()
        with load(self.url, email=email) as clients:
            clients.goes_on()
            failure(Scene(self.cluster, primary, self.instances, clients, report))
        clients.report_on(report)
        report.at_most("longest pause in s", round(clients.longest_pause(), 1), MAX_PAUSE)
        report.at_most("slowest answer in s", round(clients.slowest(1), 1), MAX_ANSWER)
        used = _connections(self.cluster.standbys())
        if self.way == STANDBYS:
            report.did("connections to standbys", len(used))
        else:
            report.none_may("connections to standbys", used)
        return report


def run(seconds: float) -> Report:
    """Let everything fail, whichever way the service finds its servers."""
    report = Report("cluster")
    is_long = seconds >= LONG
    with (
        tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root,
        patroni_cluster({} if is_long else HASTY) as cluster,
    ):
        cluster.create_database()
        migrate(cluster.url(), Path(root))
        for way, failures in (WAYS if is_long else {HOSTS: BRIEF}).items():
            with _service(Path(root), way, cluster) as service:
                for name, failure in failures.items():
                    report.add(service.survive(name, failure))
    report.did("failures", len(report.parts))
    return report


@contextmanager
def _service(root: Path, way: str, cluster: PatroniCluster) -> Iterator[Service]:
    """Start the instances, both at once."""
    folder = Path(tempfile.mkdtemp(dir=root))
    with ExitStack() as stack:
        url = stack.enter_context(haproxy(folder, cluster)) if way == HAPROXY else cluster.url()
        standbys = {"READ_DATABASE_URL": cluster.url()} if way == STANDBYS else {}

        def start(name: str) -> Server:
            (folder / name).mkdir()
            return stack.enter_context(serve(folder / name, url, **standbys))

        with ThreadPoolExecutor() as threads:
            instances = list(threads.map(start, ("first", "second")))
        addresses = [server.url for server in instances]
        address = stack.enter_context(balancer(folder, free_port(), addresses))
        yield Service(cluster, way, instances, address)


def _connections(hosts: list[Host]) -> list[int]:
    """Return the connections by which the service has used these servers."""
    found: list[int] = []
    for host in hosts:
        with connected(host.url) as connection:
            found += connection.scalars(CONNECTED).all()
    return found
