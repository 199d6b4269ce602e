"""What `make release` checks before it builds."""

import subprocess

import pytest

from tools.release import problems

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


def test_a_version_is_released_once(repository):
    assert list(problems(repository, "1.2.0")) == []

    git(repository, "tag", "v1.2.0")
    assert list(problems(repository, "1.2.0")) == ["the tag v1.2.0 exists already"]


def test_everything_that_is_missing_is_named(repository):
    (repository / "notes").touch()

    assert list(problems(repository, "1.3")) == [
        "VERSION must be three numbers, such as 1.2.3, and is '1.3'",
        "the version in setup.cfg is 1.2.0",
        "CHANGELOG.md has no section 1.3 with its date, such as (2027-01-31)",
        "there are changes that are not committed",
    ]
