"""The wheel, installed in an environment of its own, on a project in another folder."""

import json
import signal
import subprocess
import tarfile
import time
import zipfile

import pytest
import requests

from tests.support.installation import ROOT
from tests.support.live import children_of
from tests.support.ports import free_port

NOTE = {
    "name": "Note",
    "properties": {"text": {"type": "string", "required": True}},
    "acls": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}],
}


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
    (folder / "models").mkdir()
    return folder


def test_wheel_and_sdist_contain_every_file_of_the_packages(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "app", "ostiary", "pytest_ostiary.py"],
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


def test_commands_outside_of_a_project_say_that_there_is_none(installed, tmp_path):
    help_ = installed.run("ostiary", "--help", cwd=tmp_path)
    assert (help_.returncode, help_.stderr) == (0, "")
    assert "users" not in help_.stdout
    for command in ("users", "routes", "shell", "run", "unknown"):
        result = installed.run("ostiary", command, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (1, ""), command
        assert result.stderr == (
            "Error: there is no project here, as this folder has no config.py;"
            " `ostiary new NAME` makes one\n"
        )


def test_a_project_is_served_by_the_installed_wheel(installed, project, tmp_path):
    (project / "config.py").write_text("REST_API_ROOT = '/v1'\n")
    port = free_port()
    log = tmp_path / "log"
    variables = {"PORT": str(port), "WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": "--keep-alive=1"}

    with log.open("w") as output:
        process = subprocess.Popen(
            [installed.folder / "bin" / "ostiary", "run"],
            cwd=project,
            env=installed.variables(**variables),
            stdout=output,
            stderr=output,
        )
    try:
        wait_for(lambda: answer(f"http://127.0.0.1:{port}/ready"), log)
        registered = requests.post(
            f"http://127.0.0.1:{port}/v1/users",
            json={"email": "ada@example.com", "password": "a quiet harbour"},
            timeout=30,
        )
        explorer = requests.get(f"http://127.0.0.1:{port}/explorer", timeout=30)
        [worker] = children_of(process.pid)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: worker not in children_of(process.pid), log)
        users = installed.run("ostiary", "users", "list", "--json", cwd=project)
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()

    assert registered.status_code == 200
    assert explorer.status_code == 200
    assert [user["email"] for user in json.loads(users.stdout)] == ["ada@example.com"]
    assert (project / "ostiary.sqlite").is_file()
    assert "Migrated the database" in log.read_text()


def answer(url):
    try:
        return requests.get(url, timeout=5).ok
    except requests.ConnectionError:
        return False


def wait_for(condition, log):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
