"""The whole application moves: clients go on with their tokens, and get the answers of LoopBack 3.

What LoopBack 3 stored and answered is recorded, by `python -m tests.loopback.record`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.testing.databases import create_postgres_database

from .comparison import differences, documented
from .geocoder import serve_geocoder
from .loopback3 import copy_application
from .restored import fresh_dump, restore
from .script import CALLS
from .sources import DATA_SOURCES, SOURCES

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
REPLAY = [sys.executable, "-m", "tests.loopback.replay"]
TARGETS = {
    "memory": "sqlite",
    "postgresql": "postgresql",
    "mariadb": "postgresql",
    "mongodb": "sqlite",
}


@pytest.fixture
def project(tmp_path):
    """A folder with the files of the containers."""
    project = tmp_path / "project"
    manuals = project / "files" / "manuals"
    manuals.mkdir(parents=True)
    (manuals / "saw.txt").write_text("Saw slowly.\n")
    return project


@pytest.mark.parametrize("name", SOURCES)
def test_a_client_goes_on_with_its_token_and_gets_the_same_answers(
    name, project, tmp_path, postgres_database
):
    source, server = SOURCES[name], postgres_database.url
    recorded = json.loads(source.answers.read_text())
    kept = recorded["kept"]
    dump = fresh_dump(source, [value for key, value in kept.items() if key.startswith("token")])
    target = f"sqlite:///{project}/moved.sqlite"
    if TARGETS[name] == "postgresql":
        target = create_postgres_database(server, "ostiary_test_loopback_target")

    with serve_geocoder() as geocoder, restore(source, dump, tmp_path, server) as data:
        copy_application(tmp_path / "application", source.ids, DATA_SOURCES[name], geocoder)
        done = subprocess.run(
            [*REPLAY, tmp_path / "application", data, json.dumps(kept)],
            cwd=project,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "DATABASE_URL": target,
                "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
                "APP_THROTTLE_ENABLED": "false",
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert "\n".join(differences(recorded["answers"], answers, documented())) == ""


def test_the_documented_differences_are_those_of_calls_that_are_made():
    called = {f"{call.by or 'anyone'}: {call.request}" for call in CALLS}

    assert documented().keys() <= called
