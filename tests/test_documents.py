"""The documents keep their word: their examples run as printed, their tables follow the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from pkgutil import resolve_name
from urllib.parse import quote

import pytest
import requests
from flask import Flask

from app.config import configure
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.support.documents import DOCUMENTS, blocks, run_shell
from tests.support.installation import ROOT, Installation
from tests.support.live import serve, serve_app
from tests.support.ports import free_port
from tests.support.walks import Walk
from tools.generate import anchor_of, fill

# Lines of a document that needs no contents.
MAX_WITHOUT_CONTENTS = 150
GEOCODER = "http://127.0.0.1:8099"
LOCATION = {"lat": 37.56, "lng": -122.32}


@pytest.fixture
def installation(tmp_path, sqlite_template):
    """An installation with a migrated database, and the commands of its .venv."""
    installation = Installation(tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copy(sqlite_template, tmp_path / "instance" / "ostiary.sqlite")
    return installation


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_tables_of_a_document_are_those_of_the_code(path):
    page = path.read_text()

    assert fill(page) == page, "run `make docs`"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document_import_what_is_public(path):
    for code in blocks(path.relative_to(ROOT), "python"):
        assert re.findall(r"^ *(?:from|import) app\b.*", code, re.MULTILINE) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_links_of_a_document_lead_to_files_and_headings(path):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text()):
        file = path.parent / target if target else path
        headings = re.findall(r"^##+ (.*)$", file.read_text(), re.MULTILINE) if anchor else []

        assert file.exists(), target
        assert not anchor or anchor in {anchor_of(heading) for heading in headings}


def test_long_documents_have_contents():
    pages = {path.name: path.read_text() for path in DOCUMENTS if path.parent.name == "docs"}
    long = {name for name, page in pages.items() if page.count("\n") > MAX_WITHOUT_CONTENTS}

    assert {name for name in long if "<!-- contents -->" not in pages[name]} == set()


@pytest.mark.live
def test_the_documented_calls_have_the_documented_responses(
    sqlite_template,
    tmp_path,
    server,  # noqa: F811
):
    shutil.copy(sqlite_template, tmp_path / "ostiary.sqlite")
    server.routes["geocode.json"] = lambda handler: handler.reply(
        {"results": [{"geometry": {"location": LOCATION}}]}
    )
    sources = blocks("docs/connector.md", "json", "A first data source")[0]
    call = blocks("docs/connector.md", "sh", "Endpoints")[0]

    with serve(
        tmp_path,
        f"sqlite:///{tmp_path}/ostiary.sqlite",
        APP_DATA_SOURCES=sources.replace(GEOCODER, server.url),
    ) as service:
        ports = {"3000": service.url.rpartition(":")[2]}
        with closing(Walk(tmp_path / "instance", os.environ, ports)) as reader:
            reader.follow("README.md", "A tour")
        login = {"email": "ada@example.com", "password": "an even quieter harbour"}
        token = requests.post(f"{service.url}/api/users/login", json=login, timeout=60).json()["id"]
        called = run_shell(call, tmp_path, API=f"{service.url}/api", TOKEN=token)

    assert called[:2] == (["200"], ["200"])
    assert json.loads(called[2]) == LOCATION


@pytest.mark.live
def test_the_calls_about_addresses_have_the_documented_responses(make_app, tmp_path):
    environment, *calls = blocks("docs/identity.md", "sh")
    given = re.findall(r"^APP_(\w+)=(.*)$", environment, re.MULTILINE)
    settings = {name: json.loads(text) if text[0] in "{[" else text for name, text in given}
    port, folder = free_port(), tmp_path / "mail"
    address = f"http://127.0.0.1:{port}"
    app = make_app(**settings, PUBLIC_URL=address, MAIL_FOLDER=str(folder))

    with serve_app(app, port):
        code = "\n".join(calls).replace("http://127.0.0.1:3000", address)
        # `python` is the one that has Ostiary.
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        said, printed, _ = run_shell(code, tmp_path, PATH=path)

    assert printed == said
    assert len(said) == 30


@pytest.mark.live
def test_the_command_in_the_readme_creates_an_admin(installation):
    code = blocks("README.md", "sh", "Commands")[0]

    *_, printed = run_shell(code, installation.folder, **installation.environment())

    assert printed == "Created user 1, root@example.com, with role admin.\n"


@pytest.mark.live
@pytest.mark.parametrize(
    ("document", "heading"),
    [
        ("README.md", "Settings"),
        ("docs/configuration.md", None),
        ("docs/deployment.md", "Settings"),
    ],
)
def test_documented_environment_variables_set_the_documented_settings(
    document, heading, tmp_path, monkeypatch
):
    code = blocks(document, "sh", heading)[0]
    command = ["env", "-i", "bash", "-c", f"set -a\n{code}\nenv -0"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    variables = dict(line.split("=", 1) for line in output.split("\0") if line)
    app = Flask("app", instance_path=str(tmp_path), instance_relative_config=True)
    named = re.findall(r"^(?:APP_)?(\w+?)(?:__\w+)?=", code, re.MULTILINE)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    configure(app, None)

    names = [name.replace("DATABASE_URL", "SQLALCHEMY_DATABASE_URI") for name in named]
    defaults = Flask("app")
    configure(defaults, {})
    assert all(app.config[name] != defaults.config[name] for name in names)


def test_documented_rules_are_valid(shared_app):
    settings = {}
    exec(blocks("docs/configuration.md", "python")[0], settings)

    client = shared_app(ACLS=settings["ACLS"]).test_client()

    assert client.get("/api/todos").status_code == 401


def test_the_filter_in_the_readme_is_valid(api, token):
    filter_ = json.loads(blocks("README.md", "json")[0])

    response = api("GET", f"/todos?filter={quote(json.dumps(filter_))}", token=token)

    assert (response.status_code, response.json) == (200, [])


def test_the_documented_error_is_the_one_that_clients_get(api, token):
    response = api("POST", "/todos", {"title": ""}, token=token)

    assert response.json == json.loads(blocks("docs/errors.md", "json")[0])


@pytest.mark.live
def test_make_names_the_required_python_version(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    old = tmp_path / "python3.9"
    old.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 9); $2"\n'
    )
    old.chmod(0o755)

    done = subprocess.run(
        ["make", "run", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    sentence, _ = done.stderr.splitlines()
    assert sentence == f"Ostiary needs Python 3.11 or newer, and {old} is 3.9: run make PYTHON=..."
    assert not (tmp_path / ".venv").exists()


def test_the_tests_that_the_document_of_security_names_exist():
    rows = re.findall(r"^\|.*\| (`\w+/test_.*) \|$", (ROOT / "docs/security.md").read_text(), re.M)
    named = [re.findall(r"`(\w+/test_\w+\.py)` ((?:`test_\w+`(?:, )?)+)", row) for row in rows]
    texts = {path: (ROOT / "tests" / path).read_text() for row in named for path, _ in row}

    assert len(rows) > 10
    assert all(named)
    for path, names in (pair for row in named for pair in row):
        for name in re.findall(r"\w+", names):
            assert f"def {name}(" in texts[path], (path, name)


def test_the_paths_in_the_architecture_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"`((?:app|ostiary\w*|docs|tools|deploy|tests|benchmarks)/[\w/.]*)`", text)

    assert len(paths) > 50
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_names_in_the_tour_of_the_code_exist():
    text = (ROOT / "docs" / "tour-of-the-code.md").read_text()
    names = re.findall(r"`((?:app|ostiary\w*)(?:\.\w+)+(?::[\w.]+)?)`", text)

    assert len(names) > 50
    assert [name for name in names if not exists(name)] == []


def exists(name):
    """Return True if a name such as `app.factory` or `app.factory:create_app` exists."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
