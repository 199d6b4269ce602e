"""The walk of docs/project.md, from the empty folder to an upgrade."""

import re
import subprocess

import pytest
import requests

from tests.support.documents import blocks, stated_statuses
from tests.support.releases import start

pytestmark = pytest.mark.live

DOCUMENT = "docs/project.md"
INSTALL = """\
python3 -m venv .venv
. .venv/bin/activate
pip install --quiet "$WHEEL" pytest
"""
UPGRADE = 'pip install --quiet --upgrade "$NEWER_WHEEL"'
# The environment of the test has no programs of pytest and curl's habits of its own.
PRELUDE = """
set -eu
pytest() { python -m pytest -p no:cacheprovider "$@"; }
export LIBRARIAN_PASSWORD='a well kept shelf' CURL_HOME="$PWD"
"""


# It takes most of a minute on a quiet machine.
@pytest.mark.timeout(900)
def test_the_walk_from_the_empty_folder_to_an_upgrade(installed, tmp_path):
    def type_in(folder, *headings):
        code = "\n".join(block for heading in headings for block in blocks(DOCUMENT, "sh", heading))
        code = code.replace(UPGRADE, "")
        done = subprocess.run(
            ["bash", "-c", PRELUDE + code],
            cwd=folder,
            env=installed.variables(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    project = tmp_path / "library"
    (tmp_path / ".curlrc").write_text('silent\nwrite-out = "\\n%{stderr}%{http_code}\\n"\n')
    tested = type_in(tmp_path, "Models", "Fixtures", "Tests")
    [serve, calls] = blocks(DOCUMENT, "sh", "Run")
    assert serve == "ostiary run\n"
    with start(installed, "run", project) as server:
        server.wait_for("/ready")
        called = subprocess.run(
            ["bash", "-eu", "-c", calls.replace("http://127.0.0.1:3000", server.url)],
            env=installed.variables(CURL_HOME=str(tmp_path)),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    changed = type_in(project, "A front end", "Changes")
    # tests/migrate goes to a release that differs.
    upgraded = type_in(project, "Upgrade")
    with start(installed, "run", project) as server:
        server.wait_for("/ready")
        page = requests.get(server.url, timeout=60)
        [book] = requests.get(f"{server.url}/api/Books", timeout=60).json()

    assert re.search(r"Loaded the fixtures: created 4 ", tested)
    assert re.search(r"^\d+ passed", tested, re.MULTILINE)
    assert re.findall(r"^(\d{3})$", called.stderr, re.MULTILINE) == stated_statuses(DOCUMENT, "Run")
    assert "Migrated the project to" in changed
    assert re.search(r"^\d+ passed", upgraded, re.MULTILINE)
    assert "<h1>Books</h1>" in page.text
    assert book["firstPublished"] == "1843-08-01"
    assert book["shelf"] == "new"


def test_the_walk_installs_as_a_user_does():
    [upgrade] = blocks(DOCUMENT, "sh", "Upgrade")

    assert blocks(DOCUMENT, "sh", "Install") == [INSTALL]
    assert upgrade.splitlines()[0] == UPGRADE
