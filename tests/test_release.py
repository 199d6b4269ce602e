"""What `make release` checks before it builds."""

import os
import subprocess
import sys

import pytest

from tests.support.installation import ROOT

pytestmark = pytest.mark.live

CONFIGURATION = "[metadata]\nname = ostiary\nversion = {}\n"
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.0 (2027-01-31)\n\n- A feature.\n"


def git(folder, *arguments):
    identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "setup.cfg").write_text(CONFIGURATION.format("1.2.0"))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Release")
    return tmp_path


def release(folder, version):
    """Return the exit status and the lines of the command."""
    result = subprocess.run(
        [sys.executable, "-m", "tools.release", version],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, (result.stdout + result.stderr).splitlines()


def test_a_version_is_released_once(repository):
    assert release(repository, "1.2.0") == (0, [])

    git(repository, "tag", "v1.2.0")
    assert release(repository, "1.2.0") == (1, ["release: the tag v1.2.0 exists already."])


def test_everything_that_is_missing_is_named(repository):
    (repository / "notes").touch()

    assert release(repository, "1.3") == (
        1,
        [
            "release: VERSION must be three numbers, such as 1.2.3, and is '1.3'.",
            "release: the version in setup.cfg is 1.2.0.",
            "release: CHANGELOG.md has no section 1.3 with its date, such as (2027-01-31).",
            "release: there are changes that are not committed.",
        ],
    )
