"""The wheel, installed in an environment of its own, on a project in another folder."""

import json
import os
import signal
import socket
import subprocess
import tarfile
import zipfile

import pytest
import requests

from tests.support.installation import ROOT
from tests.support.live import children_of
from tests.support.releases import start

pytestmark = pytest.mark.live

PACKED = ["app", "ostiary", "ostiary_loopback", "pytest_ostiary.py"]


@pytest.fixture
def project(tmp_path):
    """A project with a package `app` of its own, and modules that are called as ours are."""
    folder = tmp_path / "notes"
    for name in ("app", "ostiary_notes"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise AssertionError('imported')\n")
    for name in ("gunicorn_settings.py", "errors.py", "wsgi.py"):
        (folder / name).write_text("raise AssertionError('imported')\n")
    (folder / "config.py").write_text("SERVICE_NAME = 'Notes'\n")
    return folder


def test_wheel_and_sdist_contain_every_file_of_the_packages(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    [sdist] = wheel.parent.glob("*.tar.gz")

    with zipfile.ZipFile(wheel) as packed:
        in_wheel = {name for name in packed.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as packed:
        in_sdist = {name.partition("/")[2] for name in packed.getnames()}

    assert in_wheel == tracked
    assert in_sdist >= tracked


@pytest.mark.parametrize("command", [["run"], ["run", "--no-migrate"], ["dev"]])
def test_a_port_that_is_taken_ends_the_start_before_anything_is_migrated(
    installed, project, command
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = installed.run("ostiary", *command, cwd=project, PORT=str(port))

    assert result.stderr == (
        f"ostiary: port {port} of 127.0.0.1 is in use by another program; set PORT to another one\n"
    )
    assert result.returncode == 1
    assert not list(project.glob("*.sqlite*"))


def test_commands_outside_of_a_project_say_that_there_is_none(installed, tmp_path):
    help_ = installed.run("ostiary", "--help", cwd=tmp_path)
    assert (help_.returncode, help_.stderr) == (0, "")
    assert "users" not in help_.stdout
    for command in ("users", "shell", "run"):
        result = installed.run("ostiary", command, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (1, ""), command
        assert result.stderr == (
            "Error: there is no project here, as this folder has no config.py and INSTANCE_PATH is"
            " not set; `ostiary new NAME` makes one\n"
        )


def test_a_project_is_served_by_the_installed_wheel(installed, project):
    (project / "config.py").write_text("REST_API_ROOT = '/v1'\n")
    with start(installed, "run", project) as server:
        server.wait_for("/ready")
        registered = requests.post(
            f"{server.url}/v1/users",
            json={"email": "ada@example.com", "password": "a quiet harbour"},
            timeout=30,
        )
        explorer = requests.get(f"{server.url}/explorer", timeout=30)
        [worker] = children_of(server.process.pid)
        server.process.send_signal(signal.SIGHUP)
        server.wait_until(lambda: worker not in children_of(server.process.pid))
        users = installed.run("ostiary", "users", "list", "--json", cwd=project)
        # Another process takes over the socket, whose parent this one was.
        [worker] = children_of(server.process.pid)
        server.process.send_signal(signal.SIGUSR2)
        server.wait_until(lambda: len(children_of(server.process.pid)) == 2)
        [second] = {*children_of(server.process.pid)} - {worker}
        server.wait_until(lambda: children_of(second))
        server.process.terminate()
        assert server.process.wait(30) == 0
        assert server.answers("/ready")
        os.kill(second, signal.SIGTERM)
        server.wait_until(lambda: not server.answers("/ready"))

    assert registered.status_code == 200
    assert explorer.status_code == 200
    assert [user["email"] for user in json.loads(users.stdout)] == ["ada@example.com"]
    assert (project / "ostiary.sqlite").is_file()
    assert "Migrated Ostiary" in server.log.read_text()


def test_upgrade_migrates_if_the_project_can_be_used(installed, project):
    model = project / "models" / "note.json"
    model.parent.mkdir()
    model.write_text("{")
    refused = installed.run("ostiary", "upgrade", cwd=project)
    migrated = (project / "ostiary.sqlite").read_bytes()
    model.unlink()
    done = installed.run("ostiary", "upgrade", cwd=project)

    assert refused.returncode == 1
    assert "note.json: cannot be read" in refused.stderr
    assert b"alembic_version" not in migrated
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Checked 0 models: all in order.\nMigrated ")


def test_dev_starts_again_when_a_file_changes_and_waits_after_an_error(installed, project):
    config, model = project / "config.py", project / "models" / "note.json"
    with start(installed, "dev", project) as server:
        server.wait_for("/api/openapi.json")
        model.parent.mkdir()
        model.write_text("{")
        server.wait_until(lambda: "note.json: cannot be read" in server.log.read_text())
        model.unlink()
        config.write_text("REST_API_ROOT = '/v1'\n")
        server.wait_for("/v1/openapi.json")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
        assert not server.answers("/ready")
    assert server.log.read_text().startswith(f"Serving on {server.url}.")
