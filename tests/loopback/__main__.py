"""Move the application from a running LoopBack 3: `python -m tests.loopback [SOURCE...]`.

For each kind of database and for SQLite and PostgreSQL as targets: LoopBack is filled, its data is
imported, `ostiary loopback compare` compares both services, the shadow proxy moves a path to the
new one and back, the recorded calls are made at both, and so are those of a client with
loopback-connector-remote. It needs node and npm, PostgreSQL and MariaDB, and takes some minutes.
Prints a line for each; exits with 1 if anything differs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from app.testing.databases import create_postgres_database
from tests.support.ports import free_port
from tests.support.postgres import postgres_server

from .client import Client
from .comparison import differences, documented
from .geocoder import serve_geocoder
from .loopback3 import copy_application, run_loopback
from .remote import KNOWN, run_remote_client
from .replay import WRITTEN
from .restored import restore
from .script import CALLS, SETUP
from .sources import DATA_SOURCES, SOURCES, Source

ROOT = Path(__file__).parents[2]
# A member, and one who may read all of them.
CALLERS = ("ada", "librarian")
OSTIARY = [sys.executable, "-m", "ostiary"]
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
    "APP_THROTTLE_ENABLED": "false",
    "WEB_CONCURRENCY": "1",
}


@contextmanager
def running(folder: Path, *arguments: str, port: int, **variables: str) -> Iterator[str]:
    """Run a command that serves; yields its address once it answers."""
    with (folder / "output.txt").open("a") as output:
        environment = {**os.environ, **ENVIRONMENT, **variables, "PORT": str(port)}
        process = subprocess.Popen(
            [*OSTIARY, *arguments], cwd=folder, env=environment, stdout=output, stderr=output
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, folder / "output.txt")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(url: str, output: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            requests.get(url, timeout=60)
        except requests.ConnectionError:
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.1)
        else:
            return


def ostiary(project: Path, *arguments: str, check: bool = True, **variables: str) -> str:
    """Run a command in a project; return what it prints."""
    environment = {**os.environ, **ENVIRONMENT, **variables}
    done = subprocess.run(
        [*OSTIARY, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout


def move(source: Source, target: str, folder: Path, server: str) -> tuple[str, list[str]]:
    """Move the application from a running LoopBack to a target.

    Returns what was compared, and what differs.
    """
    application, project = folder / "application", folder / "project"
    # What is imported has the settings of the real connector, in place of MongoDB's too.
    imported = folder / "imported"
    project.mkdir()
    url = f"sqlite:///{project}/moved.sqlite"
    if target == "postgresql":
        url = create_postgres_database(server, "ostiary_migration_drill")
    with serve_geocoder() as geocoder, source.run(application) as database:
        copy_application(application, source.ids, database.settings, geocoder)
        copy_application(imported, source.ids, DATA_SOURCES[source.name], geocoder)
        with run_loopback(application) as old:
            client = Client(old)
            client.run(SETUP)
            ostiary(project, "loopback", "import", str(imported), "--models-only")
            shutil.copytree(WRITTEN, project, dirs_exist_ok=True)
            shutil.copytree(application / "files", project / "files")
            with restore(source, database.dump(), folder, server) as data:
                command = ("loopback", "import", str(imported), "--data", data)
                ostiary(project, *command, DATABASE_URL=url)
                # A further import adds what is new: nothing.
                ostiary(project, *command, DATABASE_URL=url)
            with running(project, "run", port=free_port(), DATABASE_URL=url) as new:
                kept, api = dict(client.kept), f"{new}/api"
                compared, found = _compared(project, old, api, kept)
                found += _shadowed(project, old, api)
                clients = Client(old, dict(kept)), Client(api, kept)
                found += differences(*(client.run(CALLS) for client in clients), documented())
                remote = [run_remote_client(client, application) for client in clients]
                found += differences(*remote, KNOWN)
                numbers = len(CALLS), len(remote[0]), compared
                return "{} calls, {} by the connector, {} compared".format(*numbers), found


def _compared(project: Path, old: str, new: str, kept: Mapping[str, str]) -> tuple[int, list[str]]:
    """Compare by the command; return the number of calls, and the undocumented differences."""
    command = ["loopback", "compare", "--old", old, "--new", new, "--rate", "1000", "--json"]
    callers = [option for name in CALLERS for option in ("--token", name)]
    tokens = {f"TOKEN_{name.upper()}": kept[f"token of {name}"] for name in CALLERS}
    report = json.loads(ostiary(project, *command, *callers, check=False, **tokens))
    return report["compared"], [
        "{difference} in {calls} calls, such as {example}: {place}: {old}, {new}".format(**row)
        for row in report["differences"]
        if not row["documented"]
    ]


def _shadowed(project: Path, old: str, new: str) -> list[str]:
    """Move a path by the shadow proxy and back; return what went wrong."""
    moved, port = project / "moved.txt", free_port()
    moved.write_text("")
    command = ["loopback", "compare", "--old", old, "--new", new, "--shadow", str(port)]
    with running(project, *command, "--moved", str(moved), port=port) as proxy:
        seen = []
        for paths in ("", "/api/Categories\n", ""):
            moved.write_text(paths)
            time.sleep(2)
            answer = requests.get(f"{proxy}/api/Categories", timeout=60)
            seen.append("X-Request-Id" in answer.headers)
    return [] if seen == [False, True, False] else [f"shadow: moved and back was {seen}"]


def main() -> int:
    status = 0
    with postgres_server() as server:
        for name in sys.argv[1:] or SOURCES:
            for target in ("sqlite", "postgresql"):
                with tempfile.TemporaryDirectory() as folder:
                    done, found = move(SOURCES[name], target, Path(folder), server)
                status |= bool(found)
                result = "\n  ".join(["differs" if found else "same", *found])
                line = f"{name:<12}{SOURCES[name].ids:<10}{target:<12}{done}: {result}"
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
