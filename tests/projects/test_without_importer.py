"""The service without the folder of the importer, and without its entry point."""

import shutil

import pytest
import requests

from tests.support.releases import build_wheel, copy_sources, make_environment, start

pytestmark = pytest.mark.live

IMPORTER = "ostiary_loopback"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """What a wheel is built from, without the folder of the importer."""
    folder = copy_sources(tmp_path_factory.mktemp("sources") / "ostiary")
    shutil.rmtree(folder / IMPORTER)
    return folder


@pytest.fixture(scope="module")
def environment(sources, tmp_path_factory):
    """An environment with a wheel that has neither the importer nor its entry point."""
    configuration = sources / "setup.cfg"
    lines = configuration.read_text().splitlines()
    [command] = [line for line in lines if line.strip().startswith("loopback = ")]
    assert command.endswith(f" = {IMPORTER}.cli:loopback")
    configuration.write_text("\n".join(line for line in lines if line != command))
    return make_environment(
        tmp_path_factory.mktemp("without") / "venv", build_wheel(sources, "--wheel")
    )


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "config.py").write_text("SERVICE_NAME = 'Notes'\n")
    return folder


def test_the_service_is_served_without_the_importer(environment, project):
    missing = environment.run("python", "-c", f"import {IMPORTER}", cwd=project)
    with start(environment, "run", project) as server:
        server.wait_for("/ready")
        registered = requests.post(
            f"{server.url}/api/users",
            json={"email": "ada@example.com", "password": "a quiet harbour"},
            timeout=30,
        )

    assert "ModuleNotFoundError" in missing.stderr
    assert registered.status_code == 200


def test_the_commands_are_those_of_the_service(environment, project, tmp_path):
    inside = environment.run("ostiary", "--help", cwd=project)
    outside = environment.run("ostiary", "--help", cwd=tmp_path)
    called = environment.run("ostiary", "loopback", "--help", cwd=project)

    assert (inside.returncode, inside.stderr) == (outside.returncode, outside.stderr) == (0, "")
    assert "\n  users " in inside.stdout
    assert outside.stdout.partition("Commands:\n")[2].split()[0] == "client"
    assert "loopback" not in inside.stdout + outside.stdout
    assert called.returncode == 2
    assert "No such command 'loopback'" in called.stderr
