"""Check that the code in the current folder can be released: `python -m tools.release 1.2.3`."""

import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path


def problems(root: Path, version: str) -> Iterator[str]:
    """Yield the reasons why the code in a folder cannot be released as this version."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"VERSION must be three numbers, such as 1.2.3, and is {version!r}"
    configuration = ConfigParser()
    configuration.read(root / "setup.cfg")
    if (stated := configuration["metadata"]["version"]) != version:
        yield f"the version in setup.cfg is {stated}"
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if not re.search(heading, (root / "CHANGELOG.md").read_text(), re.MULTILINE):
        yield f"CHANGELOG.md has no section {version} with its date, such as (2027-01-31)"
    if _git(root, "status", "--porcelain"):
        yield "there are changes that are not committed"
    if _git(root, "tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists already"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout  # noqa: S603


if __name__ == "__main__":
    found = problems(Path.cwd(), sys.argv[1])
    sys.exit("\n".join(f"release: {problem}." for problem in found) or None)
