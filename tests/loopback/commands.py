"""Commands of a project, as users run them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.testing.databases import create_postgres_database
from tests.support.live import answers_at
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
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
        eventually(lambda: answers_at(url), patience=120, told=(folder / "output.txt").read_text)
        yield url
    finally:
        process.terminate()
        process.wait(30)


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


def database_url(target: str, project: Path, server: str) -> str:
    """Return the URL of the new database of a project, on SQLite or a server of PostgreSQL."""
    if target == "postgresql":
        return create_postgres_database(server, "ostiary_migration_drill")
    return f"sqlite:///{project}/moved.sqlite"


def compare(
    project: Path, old: str, new: str, kept: Mapping[str, str], callers: Sequence[str]
) -> tuple[int, list[str]]:
    """Compare by the command; return the number of calls, and the undocumented differences."""
    command = ["loopback", "compare", "--old", old, "--new", new, "--rate", "1000", "--json"]
    options = [option for name in callers for option in ("--token", name)]
    tokens = {f"TOKEN_{name.upper()}": kept[f"token of {name}"] for name in callers}
    report = json.loads(ostiary(project, *command, *options, check=False, **tokens))
    return report["compared"], [
        "{difference} in {calls} calls, such as {example}: {place}: {old}, {new}".format(**row)
        for row in report["differences"]
        if not row["documented"]
    ]
