"""Databases with their tables, and running servers, to measure."""

import os
import platform
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from sqlalchemy import create_engine, make_url

from app.server import listening
from tests.support.ports import free_port

from .load import Request

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
LOOPBACK = ROOT / "benchmarks" / "loopback3"
# The environment of the applications on other frameworks for Python.
OTHERS = ROOT / "benchmarks" / ".venv-others"


@dataclass(frozen=True)
class Server:
    """A running server: the port on which it listens, and its first process.

    `requests` are those that it takes in another form, by the names of the kinds.
    """

    port: int
    pid: int
    requests: Mapping[str, Request] = field(default_factory=dict)

    def form(self, request: Request) -> Request:
        """Return a request as this server takes it."""
        return self.requests.get(request.name, request)


def machine() -> str:
    """Describe the machine: above 1 the load average, before the run, says that it was busy."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in info if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({model or platform.machine()}), {memory:.0f} GiB of memory,"
        f" Linux {platform.release().partition('-')[0]}, load average {load:.1f}"
    )


def versions() -> str:
    """Return the versions of what is measured."""
    names = "flask", "sqlalchemy", "flask-sqlalchemy", "marshmallow", "gunicorn", "psycopg"
    return ", ".join(
        [
            f"Python {platform.python_version()}",
            f"SQLite {sqlite3.sqlite_version}",
            *([_output(f"{_programs()}/postgres", "--version")] if _programs() else []),
            *(f"{name} {version(name)}" for name in names),
        ]
    )


def node_version() -> str:
    """Return the version of node."""
    return _output("node", "--version")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder for databases and logs; delete it at the end, when it is SIGTERM too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="ostiary-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Place:
    """Where databases of one kind are made, and the first process of PostgreSQL, if it is that."""

    title: str
    folder: Path
    postgresql: int | None = None

    def create(self, name: str) -> str:
        """Return the URL of a new, migrated database."""
        make = sqlite if self.postgresql is None else postgresql
        return make(self.folder, name)


def on_each_database(measure: Callable[[Place], Iterable[T]], *options: str) -> Iterator[T]:
    """Measure on SQLite, and on PostgreSQL with these options if the machine has it."""
    with temporary_folder() as folder:
        yield from measure(Place("SQLite", folder))
    if has_postgresql():
        with temporary_folder() as folder, postgresql_server(folder, *options) as pid:
            yield from measure(Place("PostgreSQL", folder, pid))


def sqlite(folder: Path, name: str) -> str:
    """Return the URL of a migrated SQLite database."""
    return _migrated(f"sqlite:///{folder}/{name}.sqlite", folder)


def postgresql(folder: Path, name: str) -> str:
    """Return the URL of a migrated database on the server that runs in this folder."""
    return _migrated(_created(folder, name), folder)


def loopback_postgresql(folder: Path, name: str) -> str:
    """Return the URL of a database with LoopBack's tables on the server in this folder."""
    url = _created(folder, name)
    command, environment = ["node", "server.js", "migrate"], _node_environment(url)
    subprocess.run(command, cwd=LOOPBACK, env=environment, check=True, capture_output=True)
    return url


def has_postgresql() -> bool:
    """Tell whether PostgreSQL's programs are on this machine."""
    return _programs() is not None


@contextmanager
def postgresql_server(folder: Path, *options: str) -> Iterator[int]:
    """Run PostgreSQL as it comes, with every commit on disk (fsync), on a socket in the folder.

    `options` are further parameters, such as `jit=off`. Yield the id of its first process.
    """
    data, place = f"{folder}/data", (f"unix_socket_directories={folder}", "listen_addresses=''")
    arguments = " ".join(f"-c {option}" for option in (*place, "timezone=UTC", *options))
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        shutil.chown(folder, _unprivileged())
    _run("initdb", "-D", data, "-U", "ostiary", "-A", "trust", "-E", "UTF8")
    _run("pg_ctl", "-D", data, "-w", "-o", arguments, "-l", f"{folder}/postgresql.log", "start")
    try:
        yield int(Path(data, "postmaster.pid").read_text().split()[0])
    finally:
        _run("pg_ctl", "-D", data, "-m", "fast", "stop")


@contextmanager
def gunicorn(
    target: str,
    database_url: str,
    folder: Path,
    settings: Mapping[str, str] | None = None,
    runner: Sequence[str] = (),
) -> Iterator[Server]:
    """Serve a WSGI application by the project's gunicorn.conf.py.

    `settings` are environment variables, such as THREADS; without them everything is the default.
    `runner` is a command that runs another one, such as a profiler's.
    """
    environment = {**default_environment(database_url, folder), **(settings or {})}
    command = [*runner, sys.executable, "-m", "gunicorn", target]
    with serving(command, ROOT, environment, folder) as server:
        yield server


@contextmanager
def loopback(database_url: str, folder: Path) -> Iterator[Server]:
    """Serve the application in loopback3/ on a database that has its tables."""
    environment = {**_node_environment(database_url), "NODE_ENV": "production"}
    with serving(["node", "server.js"], LOOPBACK, environment, folder) as server:
        yield server


@contextmanager
def django_rest(database_url: str, folder: Path) -> Iterator[Server]:
    """Serve `django_rest.py` with as many processes and threads as Ostiary has."""
    options = f"--workers={listening.processes()}", f"--threads={listening.threads()}"
    target = f"--pythonpath={ROOT}", "benchmarks.django_rest:app"
    command = [str(OTHERS / "bin" / "gunicorn"), *options, *target]
    # Where there is no gunicorn.conf.py.
    with serving(command, OTHERS, default_environment(database_url, folder), folder) as server:
        yield server


@contextmanager
def fast_api(database_url: str, folder: Path) -> Iterator[Server]:
    """Serve `fast_api.py` with as many processes as Ostiary has."""
    command = [str(OTHERS / "bin" / "python"), "-m", "benchmarks.fast_api"]
    with serving(command, ROOT, default_environment(database_url, folder), folder) as server:
        yield server


def install_others() -> None:
    """Install what the applications on other frameworks need, unless it is there."""
    if not (OTHERS / "bin" / "pocketbase").exists():
        subprocess.run([sys.executable, "-m", "venv", OTHERS], check=True)
        requirements = ROOT / "benchmarks" / "others.txt"
        pip = [OTHERS / "bin" / "python", "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--requirement", requirements], check=True)


def install_loopback() -> None:
    """Install LoopBack's packages as package-lock.json pins them, unless they are there."""
    if not (LOOPBACK / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=LOOPBACK, check=True)


def default_environment(database_url: str, folder: Path) -> dict[str, str]:
    """Return an environment in which every setting is the default, whatever is set outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
    for name in ("WEB_CONCURRENCY", "THREADS", "PYTHONDONTWRITEBYTECODE"):
        kept.pop(name, None)
    mail = str(folder / "mail")
    return {**kept, "DATABASE_URL": database_url, "APP_MAIL_FOLDER": mail}


@contextmanager
def serving(
    command: list[str], cwd: Path, environment: Mapping[str, str], folder: Path
) -> Iterator[Server]:
    """Run a server on a free port, until it is no longer needed.

    The environment names the port, and so does `{port}` in the command.
    """
    port = free_port()
    command = [part.replace("{port}", str(port)) for part in command]
    environment = {**environment, "PORT": str(port)}
    path = folder / f"server-{port}.log"
    with path.open("w") as log:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=log, stderr=log)
    try:
        if not _listens(port, process):
            raise RuntimeError(f"{' '.join(command)} did not start:\n{path.read_text()}")
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _created(folder: Path, name: str) -> str:
    """Return the URL of a new, empty database on the server that runs in this folder."""
    server = f"postgresql+psycopg://ostiary@/{{}}?host={folder}"
    engine = create_engine(server.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.format(name)


def migrate(url: str, folder: Path, **settings: str) -> None:
    """Migrate a database, with these environment variables."""
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]
    environment = {**default_environment(url, folder), **settings}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def _migrated(url: str, folder: Path) -> str:
    migrate(url, folder)
    return url


def _node_environment(database_url: str) -> dict[str, str]:
    url = make_url(database_url)
    place = {"PGHOST": str(url.query["host"]), "PGDATABASE": str(url.database)}
    return {**os.environ, **place, "PGUSER": str(url.username)}


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a server listens on the port; tell whether it does, after 3 minutes at most."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.1)
    return False


def _programs() -> Path | None:
    """Find the folder of initdb and pg_ctl; Debian keeps it off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path := shutil.which("pg_ctl"):
        found.append(Path(on_path))
    return found[-1].parent if found else None


def _output(*command: str) -> str:
    return subprocess.check_output(command, text=True).strip()


def _unprivileged() -> str:
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"


def _run(program: str, *arguments: str) -> None:
    user = _unprivileged() if os.geteuid() == 0 else None
    command = [f"{_programs()}/{program}", *arguments]
    subprocess.run(command, user=user, cwd="/", check=True, stdout=subprocess.DEVNULL)
