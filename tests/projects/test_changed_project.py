"""A new project is changed and upgraded, as docs/project.md says."""

import re
import subprocess

import pytest
import requests

from tests.support.documents import blocks
from tests.support.releases import start

DOCUMENT = "docs/project.md"
INSTALL = """\
python3 -m venv .venv
. .venv/bin/activate
pip install --quiet "$WHEEL" pytest
"""
UPGRADE = 'pip install --quiet --upgrade "$NEWER_WHEEL"'
# The environment of the test has no programs of pytest.
PRELUDE = """
set -eu
pytest() { python -m pytest -p no:cacheprovider "$@"; }
"""


@pytest.mark.live
def test_a_new_project_is_changed_and_upgraded(installed, tmp_path):
    def type_in(heading):
        [code] = blocks(DOCUMENT, "sh", heading)
        done = subprocess.run(
            # tests/migrate goes to a release that differs.
            ["bash", "-c", PRELUDE + code.replace(UPGRADE, "")],
            cwd=project,
            env=installed.variables(),
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    project = tmp_path / "my-library"
    installed.run("ostiary", "new", project.name, cwd=tmp_path)
    with start(installed, "run", project, LIBRARIAN_PASSWORD="a well kept shelf") as server:
        server.wait_for("/ready")
    changed = type_in("Changes")
    upgraded = type_in("Upgrade")
    with start(installed, "run", project) as server:
        server.wait_for("/ready")
        [review] = requests.get(f"{server.url}/api/reviews", timeout=60).json()

    assert "Migrated the project to" in changed
    assert re.search(r"^\d+ passed", upgraded, re.MULTILINE)
    assert review["language"] == "en"
    assert review["comment"] is None


def test_a_project_is_installed_as_in_the_tests():
    [upgrade] = blocks(DOCUMENT, "sh", "Upgrade")

    assert blocks(DOCUMENT, "sh", "Install") == [INSTALL]
    assert upgrade.splitlines()[0] == UPGRADE
