"""PgBouncer in transaction mode, in front of a PostgreSQL database."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

from .documents import blocks
from .postgres import unprivileged
from .programs import require
from .waiting import eventually

PROGRAM = "/usr/sbin/pgbouncer"
FURTHER_SETTINGS = """
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
server_tls_sslmode = disable
"""


@contextmanager
def pgbouncer(database_url: str, connections: int) -> Iterator[str]:
    """Yield the URL of a database behind PgBouncer, which has so many connections to the server."""
    require("PgBouncer", Path(PROGRAM).exists())
    folder = Path(tempfile.mkdtemp(prefix="ostiary-pgbouncer-"))
    user = unprivileged(folder)
    configuration, log = folder / "pgbouncer.ini", folder / "log"
    configuration.write_text(
        _documented(_target(database_url), connections) + FURTHER_SETTINGS.format(folder=folder)
    )
    with log.open("w") as output:
        process = subprocess.Popen([PROGRAM, configuration], user=user, stderr=output)
    try:
        _wait_for(folder / ".s.PGSQL.6432", process, log)
        query = {"host": str(folder), "port": "6432"}
        url = make_url(database_url).set(host=None, port=None, query=query)
        yield url.render_as_string(hide_password=False)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _documented(target: str, connections: int) -> str:
    """Return the documented settings, with another database and number of connections."""
    [settings] = blocks("docs/postgresql.md", "ini", "PgBouncer")
    return settings.replace("ostiary = host=127.0.0.1 dbname=ostiary", f"* = {target}").replace(
        "default_pool_size = 20", f"default_pool_size = {connections}"
    )


def _target(database_url: str) -> str:
    """Return where the database is, as PgBouncer's settings have it."""
    url = make_url(database_url)
    named = {
        "host": url.query.get("host") or url.host,
        "port": url.query.get("port") or url.port,
        "user": url.username,
        "password": url.password,
    }
    return " ".join(f"{name}={value}" for name, value in named.items() if value)


def _wait_for(path: Path, process: subprocess.Popen, log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, f"PgBouncer did not start:\n{log.read_text()}"
        # The file is there a moment before connections are accepted.
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(path)) == 0

    eventually(listens, told=log.read_text)
