"""A real PostgreSQL server: a given one, or one that is started for the test session."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from tests.programs import require


@dataclass
class Cluster:
    """A PostgreSQL server with its data in a folder, which also has its socket."""

    folder: Path
    programs: Path
    user: str | None
    port: int = 5432

    @property
    def data(self) -> Path:
        return self.folder / f"data{self.port}"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://ostiary@/postgres?host={self.folder}&port={self.port}"

    def create(self) -> None:
        self._run("initdb", "-U", "ostiary", "-A", "trust", "-E", "UTF8", "-N")

    def start(self, **settings: str) -> None:
        """Start it without writing to the disk at each commit, which only a power failure needs."""
        given = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "",
            "port": str(self.port),
            "fsync": "off",
            "max_connections": "200",
            **settings,
        }
        options = " ".join(f"-c {name}='{value}'" for name, value in given.items())
        self._run("pg_ctl", "-w", "-o", options, "-l", f"{self.folder}/log{self.port}", "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [self.programs / program, "-D", self.data, *arguments]
        subprocess.run(command, user=self.user, cwd="/", check=True, stdout=subprocess.DEVNULL)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Yield a PostgreSQL server that is running, and stop it afterwards, if it still is."""
    programs = _programs()
    require("PostgreSQL", programs is not None)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-pg-"))
    server = Cluster(folder, programs, unprivileged(folder))
    try:
        server.create()
        server.start()
        yield server
    finally:
        if (server.data / "postmaster.pid").exists():
            server.stop("immediate")
        shutil.rmtree(folder)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yield the URL of an empty database: on TEST_DATABASE_URL, or on a server started for it."""
    if not is_own_server():
        yield _own_database(os.environ["TEST_DATABASE_URL"])
        return
    with cluster() as server:
        yield server.url


def is_own_server() -> bool:
    """Tell whether the server is one that is started for the tests, on this machine."""
    return not os.environ.get("TEST_DATABASE_URL")


def move_tables(url: str, folder: Path) -> None:
    """Move all tables of a database of an own server into a folder."""
    unprivileged(folder)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE TABLESPACE elsewhere LOCATION '{folder}'")
        for kind in ("TABLE", "INDEX"):
            move = f"ALTER {kind} ALL IN TABLESPACE pg_default SET TABLESPACE elsewhere"
            connection.exec_driver_sql(move)
    engine.dispose()


def _own_database(url: str) -> str:
    """Make a fresh database for this test process on a server that others may use too."""
    name = f"ostiary_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def _programs() -> Path | None:
    """Find the folder of initdb and pg_ctl; Debian keeps it off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path := shutil.which("pg_ctl"):
        found.append(Path(on_path))
    return found[-1].parent if found else None


def unprivileged(folder: Path) -> str | None:
    """Change the owner of the folder to an unprivileged user: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    return user
