"""The model of docs/models.md, made step by step as its reader would, in a project."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from app.signals import reset_password_request
from tests.support.documents import blocks, run_shell
from tests.support.live import ROOT, serve
from tests.support.shop import JSON, PYTHON, write_files

pytestmark = pytest.mark.live

DOCUMENT = "docs/models.md"
STEPS = "A model in Python"
RUFF = [
    "--isolated",
    "--config=line-length = 100",
    "--config=lint.isort.known-first-party = ['ostiary']",
]
LINTERS = [
    ("ruff", "check", *RUFF),
    ("ruff", "format", "--check", *RUFF),
    ("mypy", "--strict", "--explicit-package-bases", f"--config-file={ROOT}/setup.cfg"),
]


@pytest.fixture
def project(tmp_path, sqlite_template):
    """A folder with a project and a migrated database."""
    (tmp_path / "models").mkdir()
    (tmp_path / "config.py").touch()
    shutil.copy(sqlite_template, tmp_path / "ostiary.sqlite")
    return tmp_path


def run(project, *command):
    """Run a program of the environment on the models; it must succeed."""
    done = subprocess.run(
        [Path(sys.prefix, "bin", command[0]), *command[1:], "models"],
        cwd=project,
        # What mypy learns of the libraries, it learns for `make lint` too.
        env={**os.environ, "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache"), "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def migrate(project, commands):
    """Run the commands of a section on the project; return what they print."""
    path = os.pathsep.join([str(Path(sys.prefix, "bin")), os.environ["PATH"]])
    *_, printed = run_shell(commands, project, PATH=path)
    return printed


@contextmanager
def served(project):
    """Serve the project; return the base path of its API."""
    with serve(
        project, f"sqlite:///{project}/ostiary.sqlite", INSTANCE_PATH=str(project)
    ) as service:
        yield f"{service.url}/api"


def test_the_model_of_the_document_works_as_printed_beside_the_shop(project):
    write_files(PYTHON, project)
    [note] = blocks(DOCUMENT, "python", STEPS)
    (project / re.match(r"# (models/\w+\.py)\n", note)[1]).write_text(note)
    commands, calls = blocks(DOCUMENT, "sh", STEPS)

    printed = migrate(project, commands)
    for linter in LINTERS:
        run(project, *linter)
    with served(project) as api:
        said, answered, bodies = run_shell(
            calls, project, API=api, JSON="Content-Type: application/json", TOKEN=login(api)
        )
        missing = requests.post(
            f"{api}/notes/1/star", headers={"Authorization": login(api, "eve")}, timeout=60
        )

    assert "Checked 7 models: all in order.\n" in printed
    assert answered == said
    made, starred, listed = (json.loads(line) for line in bodies.splitlines()[:3])
    expected = {"id": 1, "text": "The key is under the mat", "stars": 0, "ownerId": 1}
    assert {**expected, "created": made["created"]} == made
    assert starred == {**made, "stars": 1}
    assert [todo["owner"]["email"] for todo in listed] == ["ada@example.com"]
    assert missing.status_code == 404


def test_the_page_of_endpoints_has_the_endpoint_of_the_model():
    [endpoint] = blocks("docs/endpoints.md", "python")
    [note] = blocks(DOCUMENT, "python", STEPS)

    assert endpoint in note


def test_the_model_in_json_works_as_printed_beside_the_shop(project):
    write_files(JSON, project)
    [note] = blocks(DOCUMENT, "json", "A model in JSON")
    (project / "models" / "note.json").write_text(note)
    for text in blocks("docs/relations.md", "json", "Polymorphic relations"):
        (project / "models" / f"{json.loads(text)['name']}.json").write_text(text)
    commands, calls = blocks(DOCUMENT, "sh", "A model in JSON")
    [polymorphic] = blocks("docs/relations.md", "sh", "Polymorphic relations")

    printed = migrate(project, commands)
    with served(project) as api:
        said, answered, bodies = run_shell(
            calls + polymorphic,
            project,
            API=api,
            JSON="Content-Type: application/json",
            TOKEN=login(api),
        )

    assert "Checked 9 models: all in order.\n" in printed
    assert answered == said
    image = json.loads(bodies.splitlines()[-1])[0]
    assert image["imageable"] == {"id": 1, "title": "Rome"}
    made, listed, changed = (json.loads(line) for line in bodies.splitlines()[:3])
    assert made == {"id": 1, "text": "The key is under the mat", "stars": 0, "ownerId": 1}
    assert [todo["owner"]["email"] for todo in listed] == ["ada@example.com"]
    assert changed == {**made, "stars": 3}


def login(api, name="ada"):
    """Register a user; return the token of a login."""
    user = {"email": f"{name}@example.com", "password": "a quiet harbour"}
    requests.post(f"{api}/users", json=user, timeout=60)
    return requests.post(f"{api}/users/login", json=user, timeout=60).json()["id"]


def test_the_documented_receiver_gets_the_event(make_app, caplog):
    namespace = {}
    exec(blocks("docs/events.md", "python")[0], namespace)
    client = make_app().test_client()
    client.post("/api/users", json={"email": "ada@example.com", "password": "a quiet harbour"})

    client.post("/api/users/reset", json={"email": "ada@example.com"})

    # Otherwise it would receive the events of other tests, until it is collected.
    reset_password_request.disconnect(namespace["tell_the_operator"])
    assert re.search(r"user \d+ forgot the password", caplog.text)
