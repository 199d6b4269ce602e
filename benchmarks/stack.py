"""What is measured on: migrated databases, and gunicorn as the project runs it."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine

ROOT = Path(__file__).parent.parent


def sqlite(folder: Path, name: str) -> str:
    """Return the URL of a migrated SQLite database."""
    return _migrated(f"sqlite:///{folder}/{name}.sqlite", folder)


def postgresql(folder: Path, name: str) -> str:
    """Return the URL of a migrated database on the server that runs in this folder."""
    server = f"postgresql+psycopg://ostiary@/{{}}?host={folder}"
    engine = create_engine(server.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return _migrated(server.format(name), folder)


def has_postgresql() -> bool:
    """Tell whether PostgreSQL's programs are on this machine."""
    return _programs() is not None


@contextmanager
def postgresql_server(folder: Path) -> Iterator[None]:
    """Run PostgreSQL as it comes, with every commit on disk (fsync), on a socket in the folder."""
    data, options = f"{folder}/data", f"-k {folder} -c listen_addresses='' -c timezone=UTC"
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        shutil.chown(folder, _unprivileged())
    _run("initdb", "-D", data, "-U", "ostiary", "-A", "trust", "-E", "UTF8")
    _run("pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{folder}/postgresql.log", "start")
    try:
        yield
    finally:
        _run("pg_ctl", "-D", data, "-m", "fast", "stop")


@contextmanager
def gunicorn(target: str, database_url: str, folder: Path) -> Iterator[int]:
    """Serve a WSGI application by the project's gunicorn.conf.py; yield the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    environment = {**_environment(database_url, folder), "PORT": str(port)}
    command = [sys.executable, "-m", "gunicorn", target]
    with (folder / f"gunicorn-{port}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _migrated(url: str, folder: Path) -> str:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]
    environment = _environment(url, folder)
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return url


def _environment(database_url: str, folder: Path) -> dict[str, str]:
    """Return an environment in which every setting is the default, whatever is set outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
    kept.pop("WEB_CONCURRENCY", None)
    kept.pop("THREADS", None)
    mail = str(folder / "mail")
    return {**kept, "DATABASE_URL": database_url, "APP_MAIL_FOLDER": mail}


def _wait(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("gunicorn did not start")


def _programs() -> Path | None:
    """Find the folder of initdb and pg_ctl; Debian keeps it off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if on_path := shutil.which("pg_ctl"):
        found.append(Path(on_path))
    return found[-1].parent if found else None


def _unprivileged() -> str:
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"


def _run(program: str, *arguments: str) -> None:
    user = _unprivileged() if os.geteuid() == 0 else None
    command = [f"{_programs()}/{program}", *arguments]
    subprocess.run(command, user=user, cwd="/", check=True, stdout=subprocess.DEVNULL)
