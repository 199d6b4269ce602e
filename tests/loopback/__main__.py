"""Move applications from a running LoopBack 3: `python -m tests.loopback [NAME...]`.

The library of tools, for each kind of database and for SQLite and PostgreSQL as targets: LoopBack
is filled, its data is imported, `ostiary loopback compare` compares both services, the shadow proxy
moves a path to the new one and back, the recorded calls are made at both, and so are those of a
client with loopback-connector-remote. `shop`, with two models of users: the calls, whose tokens are
those of LoopBack, and the ids the new ones. It needs node and npm, PostgreSQL and MariaDB, and
takes some minutes. Prints a line for each; exits with 1 if anything differs.
"""

import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import requests

from tests.support.ports import free_port
from tests.support.postgres import postgres_server

from .client import Client
from .commands import compare, database_url, ostiary, running
from .comparison import differences, documented
from .geocoder import serve_geocoder
from .loopback3 import copy_application, run_loopback
from .remote import KNOWN, run_remote_client
from .replay import WRITTEN
from .restored import restore
from .script import CALLS, SETUP
from .shop import drill as shop
from .sources import DATA_SOURCES, SOURCES, Source

# A member, and one who may read all of them.
CALLERS = ("ada", "librarian")


def move(source: Source, target: str, folder: Path, server: str) -> tuple[str, list[str]]:
    """Move the application from a running LoopBack to a target.

    Returns what was compared, and what differs.
    """
    application, project = folder / "application", folder / "project"
    # What is imported has the settings of the real connector, in place of MongoDB's too.
    imported = folder / "imported"
    project.mkdir()
    url = database_url(target, project, server)
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
                compared, found = compare(project, old, api, kept, CALLERS)
                found += _shadowed(project, old, api)
                clients = Client(old, dict(kept)), Client(api, kept)
                found += differences(*(client.run(CALLS) for client in clients), documented())
                remote = [run_remote_client(client, application) for client in clients]
                found += differences(*remote, KNOWN)
                numbers = len(CALLS), len(remote[0]), compared
                return "{} calls, {} by the connector, {} compared".format(*numbers), found


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
    drills = {name: partial(move, source) for name, source in SOURCES.items()} | {"shop": shop.move}
    with postgres_server() as server:
        for name in sys.argv[1:] or drills:
            for target in ("sqlite", "postgresql"):
                with tempfile.TemporaryDirectory() as folder:
                    done, found = drills[name](target, Path(folder), server)
                status |= bool(found)
                result = "\n  ".join(["differs" if found else "same", *found])
                sys.stdout.write(f"{name:<12}{target:<12}{done}: {result}\n")
                sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
