"""The project that `ostiary new` writes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest
import requests
from playwright.sync_api import expect

from app.projects.new import new
from app.settings import SettingsSchema
from app.storage.settings import StoreSchema
from tests.support.documents import blocks, run_shell
from tests.support.node_packages import install
from tests.support.programs import require
from tests.support.releases import start
from tests.testing.runs import run_pytest

NAME = "my-library"
CLIENT = "ostiary client javascript --output public/client.js"
# TypeScript is among the packages of clients under test.
PACKAGES = Path(__file__).parents[1] / "openapi" / "client_node"
PASSWORD = "a quiet harbour at night"


@pytest.fixture
def runner():
    return click.testing.CliRunner()


@pytest.fixture(scope="module")
def project(installed, tmp_path_factory):
    """A project that the command of the wheel has written."""
    folder = tmp_path_factory.mktemp("projects")
    result = installed.run("ostiary", "new", NAME, cwd=folder)
    assert result.returncode == 0, result.stderr
    [begin] = blocks("docs/project.md", "sh", "A new project")
    command, *following = begin.splitlines(keepends=True)
    assert command == f"ostiary new {NAME}\n"
    said = "".join(f"  {line}" for line in following)
    assert result.stdout.startswith(f"Wrote the project {NAME}. Next:\n{said}README.md ")
    assert [path.name for path in folder.iterdir()] == [NAME]
    return folder / NAME


@pytest.mark.live
def test_a_new_project_passes_its_own_tests_and_checks(installed, project):
    done = installed.run("python", "-m", "pytest", "-q", "-p", "no:schemathesis", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    for command in ("check", "format --check"):
        ruff = [sys.executable, "-m", "ruff", *command.split()]
        done = subprocess.run(ruff, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    done = installed.run("ostiary", "models", "check", "--strict", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.live
def test_tests_of_a_new_project_import_its_modules(installed, project, tmp_path):
    copy = shutil.copytree(project, tmp_path / NAME)
    (copy / "tests" / "test_import.py").write_text(
        "from models.book import books\n\ndef test_books(app):\n    assert books.name == 'books'\n"
    )
    done = run_pytest(installed, copy, "-q", "tests/test_import.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.live
def test_a_new_project_is_served_as_its_readme_says(installed, project, tmp_path):
    install, client, run, calls, _ = blocks(str(project / "README.md"), "sh")
    assert install.endswith(".venv/bin/pytest\n")
    assert client == ".venv/bin/ostiary client javascript --output public/client.js\n"
    assert run == f"LIBRARIAN_PASSWORD='{PASSWORD}' .venv/bin/ostiary run\n"

    with start(installed, "run", project, LIBRARIAN_PASSWORD=PASSWORD) as server:
        server.wait_for("/ready")
        _, statuses, output = run_shell(
            calls.replace("http://127.0.0.1:3000", server.url), tmp_path
        )
        token, books = map(json.loads, output.splitlines())
        rating = requests.get(f"{server.url}/api/books/{books[0]['id']}/rating", timeout=30)
        stored = requests.post(
            f"{server.url}/api/books",
            json={"isbn": "978-0-441-01359-3", "title": "Dune"},
            headers={"Authorization": token["id"]},
            timeout=30,
        )
        titles = requests.get(f"{server.url}/titles.txt", timeout=30)

    assert statuses == ["200", "200"]
    assert [book["title"] for book in books] == ["Frankenstein"]
    assert rating.json() == {"average": 5}
    assert stored.json()["isbn"] == "9780441013593"
    assert titles.text == "Dune\nFrankenstein\n"


@pytest.mark.live
def test_the_page_of_a_new_project_uses_its_client(installed, project, page):
    written = installed.run(*CLIENT.split(), cwd=project)
    checked = installed.run(*CLIENT.split(), "--check", cwd=project)
    problems = compile_page(project / "public")

    with start(installed, "run", project, LIBRARIAN_PASSWORD=PASSWORD) as server:
        server.wait_for("/ready")
        page.goto(server.url)
        page.get_by_label("Title").fill("stein")
        expect(page.get_by_role("listitem")).to_have_text(["Frankenstein: 5.0 stars"])
        page.get_by_label("Title").fill("<b>'%")
        expect(page.get_by_role("listitem")).to_have_count(0)
        expect(page.get_by_role("alert")).to_be_empty()

    assert written.returncode == 0, written.stderr
    assert checked.returncode == 0, checked.stderr
    assert problems == ""


def compile_page(folder):
    """Check the types of the page's script; return the errors."""
    require("node")
    install(PACKAGES)
    options = "--noEmit --checkJs --strict --target es2022 --module es2022 library.js"
    command = [PACKAGES / "node_modules" / ".bin" / "tsc", *options.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture
def page(browser):
    with browser.new_context() as context:
        yield context.new_page()


def test_what_a_project_writes_is_neither_committed_nor_in_the_image(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner.invoke(new, NAME)
    project = tmp_path / NAME
    written = {"mail", StoreSchema().fields["root"].load_default, "*.sqlite*", ".env"}

    for ignored in (".gitignore", ".dockerignore"):
        lines = (project / ignored).read_text().splitlines()
        assert written <= {line.strip("/") for line in lines}, ignored
    # Mails have tokens.
    assert "install -d -m 700 -o app -g app /srv/app/mail" in (project / "Dockerfile").read_text()


@pytest.mark.live
def test_the_files_for_docker_name_what_there_is(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert runner.invoke(new, [NAME]).exit_code == 0
    project = tmp_path / NAME
    compose = (project / "compose.yaml").read_text()
    settings = set(re.findall(r"^ +APP_(\w+):", compose, re.MULTILINE))
    assert settings
    assert settings <= SettingsSchema().fields.keys()
    assert all((project / path).exists() for path in re.findall(r"- \./([^:]+):", compose))

    require("nginx")
    text = (project / "deploy" / "nginx.conf").read_text()
    # What Docker's names and the folders of its image stand for.
    text = re.sub(r"server \w+:3000", "server 127.0.0.1:3000", text)
    text = text.replace("/var/log/nginx", str(tmp_path)).replace("listen 80", "listen 8080")
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{text}}}\n")
    command = ["nginx", "-t", "-e", tmp_path / "log", "-c", configuration]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_no_name_of_a_folder_is_refused(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("", ".", "a/b", "/tmp/x", "-x", "1st", "a b", "ä", "x-", "x\n", "x" * 65):
        result = runner.invoke(new, ["--", name])
        assert result.exit_code == 1, name
        assert result.output.startswith("Error: NAME must be the name of a new folder here"), name
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_refused_and_an_empty_one_is_filled(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").touch()
    (tmp_path / "file").touch()
    for name in ("taken", "file"):
        result = runner.invoke(new, [name])
        expected = f"Error: {name} exists already, and is not an empty folder.\n"
        assert (result.exit_code, result.output) == (1, expected)
    (tmp_path / "empty").mkdir()
    assert runner.invoke(new, ["empty"]).exit_code == 0
    assert (tmp_path / "empty" / "config.py").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "taken"]


def test_an_empty_project_has_no_trace_of_the_sample_application(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = runner.invoke(new, ["--empty", NAME])

    project = tmp_path / NAME
    assert result.output.splitlines()[1:3] == [f"  cd {NAME}", "  ostiary dev"]
    files = {path for path in project.rglob("*") if path.is_file()}
    folders = {path.name for path in project.iterdir() if path.is_dir() and not any(path.iterdir())}
    assert folders == {"fixtures", "migrations", "models", "tests"}
    assert {"config.py", "README.md", "compose.yaml", "ci.yml"} <= {path.name for path in files}
    for path in files:
        text = path.read_text().replace("bookworm", "")
        assert re.findall("@[A-Z]+@|(?i:librarian|book|review)", text) == [], path


@pytest.mark.live
def test_an_empty_project_is_served(installed, tmp_path):
    installed.run("ostiary", "new", "--empty", NAME, cwd=tmp_path)
    with start(installed, "run", tmp_path / NAME) as server:
        server.wait_for("/ready")


def test_a_project_that_cannot_be_written_leaves_nothing(runner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.projects.new.os.rename", fail)
    result = runner.invoke(new, ["library"])
    assert result.output == "Error: library cannot be written: No space left on device.\n"
    assert list(tmp_path.iterdir()) == []
