"""A real PostgreSQL server: a given one, or one that is started for the test session."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from tests.programs import require


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yield the URL of an empty database: on TEST_DATABASE_URL, or on a server started for it."""
    if not is_own_server():
        yield _own_database(os.environ["TEST_DATABASE_URL"])
        return
    programs = _programs()
    require("PostgreSQL", programs is not None)
    folder = tempfile.mkdtemp(prefix="ostiary-pg-")
    user = _unprivileged(folder)
    data = f"{folder}/data"
    _run(user, f"{programs}/initdb", "-D", data, "-U", "ostiary", "-A", "trust", "-E", "UTF8", "-N")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
    _run(
        user, f"{programs}/pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{folder}/log", "start"
    )
    try:
        yield f"postgresql+psycopg://ostiary@/postgres?host={folder}"
    finally:
        _run(user, f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def is_own_server() -> bool:
    """Tell whether the server is one that is started for the tests, on this machine."""
    return not os.environ.get("TEST_DATABASE_URL")


def move_tables(url: str, folder: Path) -> None:
    """Move all tables of a database of an own server into a folder."""
    _unprivileged(folder)
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


def _unprivileged(folder: str | Path) -> str | None:
    """Change the owner of the folder to an unprivileged user: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    return user


def _run(user: str | None, *command: str) -> None:
    subprocess.run(command, user=user, cwd="/", check=True, stdout=subprocess.DEVNULL)
