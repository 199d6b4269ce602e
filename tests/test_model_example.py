"""The model of docs/models.md, made step by step as its reader would, in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from app.signals import reset_password_request
from tests.support.documents import blocks, run_shell
from tests.support.live import ROOT, serve
from tests.support.shop import JSON, PYTHON, write_files

DOCUMENT = "docs/models.md"
STEPS = "A model in Python"
COPIED = ["app", "ostiary", "tools", "wsgi.py", "setup.cfg", "pyproject.toml"]
LINTERS = [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",), ("lint-imports",)]


@pytest.fixture
def database_url(sqlite_url):
    """One database is enough for what the document shows."""
    return sqlite_url


@pytest.fixture
def project(tmp_path, sqlite_template):
    """A copy of the project with a migrated database."""
    (tmp_path / "instance").mkdir()
    shutil.copy(sqlite_template, tmp_path / "instance" / "ostiary.sqlite")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def apply(diff, folder):
    """Change a file of a folder as a diff says, whose first line names it."""
    name, *lines = re.sub(r"^# ", "", diff).splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
    text = (folder / name).read_text()
    assert text.count(before) == 1, f"{name} does not have {before!r} once"
    (folder / name).write_text(text.replace(before, after))


def add_shop(project):
    """Add the shop of docs/shop.md as the notes were added."""
    write_files(PYTHON, project)
    for name, after, added in [
        (
            "app/factory.py",
            "from app.rest.views.collection import check_relations\n",
            "from app.shop import views as shop\n",
        ),
        ("app/factory.py", "    notes.init_app(app)\n", "    shop.init_app(app)\n"),
        ("setup.cfg", "users | todos | notes", " | shop"),
        ("setup.cfg", "    app.notes\n", "    app.shop\n"),
    ]:
        text = (project / name).read_text()
        assert text.count(after) == 1
        (project / name).write_text(text.replace(after, after + added))


def run(project, *command):
    """Run a program of the environment in the copy; it must succeed."""
    done = subprocess.run(
        [Path(sys.prefix, "bin", command[0]), *command[1:]],
        cwd=project,
        # What mypy learns of the libraries, it learns for `make lint` too.
        env={**os.environ, "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_model_of_the_document_works_as_printed(project):
    (project / "app" / "notes").mkdir()
    for file in blocks(DOCUMENT, "python", STEPS):
        (project / re.match(r"# (app/notes/\w+\.py)\n", file)[1]).write_text(file)
    for diff in blocks(DOCUMENT, "diff", STEPS):
        apply(diff, project)
    add_shop(project)
    migrate, calls = blocks(DOCUMENT, "sh", STEPS)

    *_, printed = run_shell(migrate, project, PYTHONPATH=str(project))
    for linter in LINTERS:
        run(project, *linter)
    database = f"sqlite:///{project}/instance/ostiary.sqlite"
    with serve(project, database, root=project) as service:
        api = f"{service.url}/api"
        said, answered, bodies = run_shell(
            calls, project, API=api, JSON="Content-Type: application/json", TOKEN=login(api)
        )
        missing = requests.post(
            f"{api}/notes/1/star", headers={"Authorization": login(api, "eve")}, timeout=10
        )

    assert "Migrated the product" in printed
    assert answered == said
    made, starred, listed = (json.loads(line) for line in bodies.splitlines()[:3])
    expected = {"id": 1, "text": "The key is under the mat", "stars": 0, "ownerId": 1}
    assert {**expected, "created": made["created"]} == made
    assert starred == {**made, "stars": 1}
    assert [todo["owner"]["email"] for todo in listed] == ["ada@example.com"]
    assert missing.status_code == 404


def test_the_model_in_json_works_as_printed_beside_the_shop(project):
    write_files(JSON, project)
    [note] = blocks(DOCUMENT, "json", "A model in JSON")
    (project / "instance" / "models" / "note.json").write_text(note)
    migrate, calls = blocks(DOCUMENT, "sh", "A model in JSON")

    *_, printed = run_shell(migrate, project, PYTHONPATH=str(project))
    database = f"sqlite:///{project}/instance/ostiary.sqlite"
    with serve(project, database, root=project) as service:
        api = f"{service.url}/api"
        said, answered, bodies = run_shell(
            calls, project, API=api, JSON="Content-Type: application/json", TOKEN=login(api)
        )

    assert printed.startswith("Checked 7 models: all in order.\n")
    assert answered == said
    made, listed, changed = (json.loads(line) for line in bodies.splitlines()[:3])
    assert made == {"id": 1, "text": "The key is under the mat", "stars": 0, "ownerId": 1}
    assert [todo["owner"]["email"] for todo in listed] == ["ada@example.com"]
    assert changed == {**made, "stars": 3}


def login(api, name="ada"):
    """Register a user; return the token of a login."""
    user = {"email": f"{name}@example.com", "password": "a quiet harbour"}
    requests.post(f"{api}/users", json=user, timeout=10)
    return requests.post(f"{api}/users/login", json=user, timeout=10).json()["id"]


def test_the_documented_receiver_gets_the_event(make_app, caplog):
    namespace = {}
    exec(blocks(DOCUMENT, "python", "Events")[0], namespace)
    client = make_app().test_client()
    client.post("/api/users", json={"email": "ada@example.com", "password": "a quiet harbour"})

    client.post("/api/users/reset", json={"email": "ada@example.com"})

    # Otherwise it would receive the events of other tests, until it is collected.
    reset_password_request.disconnect(namespace["tell_the_operator"])
    assert re.search(r"user \d+ forgot the password", caplog.text)
