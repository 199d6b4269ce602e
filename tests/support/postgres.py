"""A real PostgreSQL server: a given one, or one that is started for the test session."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine

from app.testing.databases import create_postgres_database

from .guard import guard
from .programs import require


@dataclass
class Cluster:
    """A PostgreSQL server: its programs, its user, and the folder of its socket and its data."""

    folder: Path
    programs: Path
    user: str | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://ostiary@/postgres?host={self.folder}"

    def create(self, owner: str = "ostiary") -> None:
        """Create the data; the superuser has this name."""
        self._run("initdb", "-U", owner, "-A", "trust", "-E", "UTF8", "-N")

    def follow(self, primary: "Cluster") -> None:
        """Copy the data of another server, to replicate it once this one is started."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._run("pg_basebackup", "-h", primary.folder, "-U", "ostiary", "-c", "fast", "-N", "-R")

    def start(self, **settings: str) -> None:
        """Start it; only a power failure would need that commits are written to the disk."""
        given = {"listen_addresses": "", "fsync": "off", "max_connections": "200", **settings}
        options = [f"-k {self.folder}", *(f"-c {name}='{given[name]}'" for name in given)]
        log = self.folder / "log"
        self._run("pg_ctl", "-w", "-o", " ".join(options), "-l", log, "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-m", mode, "stop")

    def promote(self) -> None:
        self._run("pg_ctl", "-w", "promote")

    def become_standby(self, primary: "Cluster") -> None:
        """Replicate another server once this one, which was the primary and has stopped, starts."""
        (self.data / "standby.signal").touch()
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = 'host={primary.folder} user=ostiary'\n")

    def freeze(self) -> list[int]:
        """Stop all of its processes, while the system acknowledges what clients send to them.

        Returns their pids.
        """
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        # It starts no others from now on.
        os.kill(first, signal.SIGSTOP)
        others = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for pid in map(int, others):
            os.kill(pid, signal.SIGSTOP)
        return [*map(int, others), first]

    def kill(self) -> None:
        """Kill all of its processes at once, and leave no trace of them, as when its host fails."""
        for pid in self.freeze():
            os.kill(pid, signal.SIGKILL)
        for trace in (self.data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            trace.unlink()

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [self.programs / program, "-D", self.data, *arguments]
        subprocess.run(command, user=self.user, cwd="/", check=True, stdout=subprocess.DEVNULL)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Yield a PostgreSQL server without data; stop it afterwards, if it runs."""
    programs = find_programs()
    require("PostgreSQL", programs is not None)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-pg-"))
    server = Cluster(folder, programs, unprivileged(folder))
    try:
        yield server
    finally:
        if (server.data / "postmaster.pid").exists():
            server.stop("immediate")
        shutil.rmtree(folder)


@contextmanager
def postgres_server(**settings: str) -> Iterator[str]:
    """Yield the URL of an empty database: on TEST_DATABASE_URL, or on a server started for it.

    `settings` are those of a server that is started.
    """
    if not is_own_server():
        # Other test processes, and other people, may use the same server.
        name = f"ostiary_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
        yield create_postgres_database(os.environ["TEST_DATABASE_URL"], name)
        return
    with cluster() as server:
        with guard.lifted():
            server.create()
            server.start(**settings)
        try:
            yield server.url
        finally:
            with guard.lifted():
                server.stop("immediate")


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


def find_programs() -> Path | None:
    """Find the folder of initdb and pg_ctl; Debian keeps it off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path := shutil.which("pg_ctl"):
        found.append(Path(on_path))
    return found[-1].resolve().parent if found else None


def unprivileged(folder: Path) -> str | None:
    """Change the owner of the folder to an unprivileged user: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    return user
