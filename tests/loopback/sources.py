"""Where the application keeps its data: a database of a kind, with ids of a kind."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.mariadb import mariadb_server
from tests.support.postgres import cluster

RECORDINGS = Path(__file__).parent / "recordings"
# The data source of the application, as its file has it. A database may be moved to any other.
DATA_SOURCES = {
    "memory": {"connector": "memory", "file": "data.json"},
    "postgresql": {"connector": "postgresql", "host": "localhost"},
    "mariadb": {"connector": "mysql", "host": "localhost"},
    "mongodb": {"connector": "mongodb", "host": "localhost"},
}


@dataclass(frozen=True)
class Running:
    """A database for LoopBack: the settings of its data source, and a function that dumps it."""

    settings: dict[str, Any]
    dump: Callable[[], str]


@dataclass(frozen=True)
class Source:
    """A kind of database and of ids, and what was recorded of it."""

    name: str
    ids: str
    # The file of its dump.
    file: str
    run: Callable[[Path], AbstractContextManager[Running]]
    recordings: Path = RECORDINGS

    @property
    def dump(self) -> Path:
        return self.recordings / self.name / self.file

    @property
    def answers(self) -> Path:
        return self.recordings / self.name / "answers.json"


@contextmanager
def _memory(folder: Path) -> Iterator[Running]:
    yield Running({"connector": "memory", "file": "data.json"}, lambda: _settled(folder))


@contextmanager
def _mongodb(folder: Path) -> Iterator[Running]:
    connector = folder / "server" / "object-ids.js"
    settings = {"connector": str(connector), "file": "data.json"}
    yield Running(settings, lambda: _settled(folder))


@contextmanager
def _postgresql(folder: Path) -> Iterator[Running]:
    with cluster() as server:
        server.create()
        server.start()
        settings = {"connector": "postgresql", "host": str(server.folder), "user": "ostiary"}
        program = [server.programs / "pg_dump", "-h", server.folder, "-U", "ostiary", "postgres"]
        switches = ["--column-inserts", "--no-owner", "--no-comments"]

        def dump() -> str:
            done = subprocess.run([*program, *switches], capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            kept = [line for line in lines if line and not line.startswith(("--", "\\", "SET "))]
            # The search path that it empties would hold for the connection that loads it.
            return "\n".join(line for line in kept if "search_path" not in line) + "\n"

        yield Running({**settings, "database": "postgres"}, dump)


@contextmanager
def _mariadb(folder: Path) -> Iterator[Running]:
    with mariadb_server() as server:
        server.run("CREATE DATABASE library CHARACTER SET utf8mb4")
        settings = {"connector": "mysql", "host": "127.0.0.1", "port": server.port}
        account = {"user": "ostiary", "password": "ostiary", "database": "library"}
        yield Running({**settings, **account}, lambda: server.dump("library"))


def _settled(folder: Path) -> str:
    """Return the file of a memory connector, which writes it after the answer."""
    time.sleep(0.5)
    return json.dumps(json.loads((folder / "data.json").read_text()), indent=1) + "\n"


SOURCES = {
    source.name: source
    for source in (
        Source("memory", "integer", "data.json", _memory),
        Source("postgresql", "uuid", "data.sql", _postgresql),
        Source("mariadb", "integer", "data.sql", _mariadb),
        Source("mongodb", "objectid", "data.json", _mongodb),
    )
}
