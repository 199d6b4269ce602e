"""A real MariaDB server, started for the tests that need one."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .ports import free_port
from .postgres import unprivileged
from .programs import require
from .waiting import eventually


@dataclass
class MariaDB:
    """A server: its folder, its socket, and the port of 127.0.0.1 on which it listens.

    Everybody may do everything, with any password.
    """

    folder: Path
    port: int

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    def url(self, database: str) -> str:
        return f"mysql+pymysql://ostiary:ostiary@127.0.0.1:{self.port}/{database}"

    def run(self, sql: str, database: str = "information_schema") -> None:
        """Run SQL by the client program, so that a dump may have several statements."""
        command = ["mariadb", f"--socket={self.socket}", "--user=root", database]
        subprocess.run(command, input=sql, text=True, check=True, timeout=60)

    def dump(self, database: str) -> str:
        """Return a database as SQL, each row on a line of its own."""
        command = ["mariadb-dump", f"--socket={self.socket}", "--user=root"]
        options = [
            "--compact",
            "--skip-extended-insert",
            "--complete-insert",
            "--hex-blob",
            database,
        ]
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout


@contextmanager
def mariadb_server() -> Iterator[MariaDB]:
    """Start a server without databases; stop it afterwards."""
    require("mariadbd")
    folder = Path(tempfile.mkdtemp(prefix="ostiary-mariadb-"))
    user = unprivileged(folder) or ""
    data = folder / "data"
    data.mkdir()
    if user:
        shutil.chown(data, user)
    server = MariaDB(folder, free_port())
    command = [
        "mariadbd",
        "--no-defaults",
        f"--datadir={data}",
        # Without accounts it needs no system tables, which take seconds to make.
        "--skip-grant-tables",
        f"--socket={server.socket}",
        f"--port={server.port}",
        "--bind-address=127.0.0.1",
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M",
        f"--user={user}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def _wait(server: MariaDB, process: subprocess.Popen) -> None:
    ping = ["mariadb-admin", f"--socket={server.socket}", "--user=root", "ping"]
    log = server.folder / "log"

    def answers() -> bool:
        assert process.poll() is None, f"MariaDB did not start:\n{log.read_text()}"
        return subprocess.run(ping, capture_output=True, check=False).returncode == 0

    eventually(answers, told=log.read_text)
