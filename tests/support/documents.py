"""The documents and the code in them, as their readers see it."""

import json
import os
import re
import subprocess
from pathlib import Path

from .installation import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A block with the line above it, which may name the file: "`models/site.json`:", or, if the block
# is added to a file, "to `config.py`:".
STEP = re.compile(
    r"(?P<before>[^\n]*)\n\n```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
NAMED = re.compile(r"(\bto )?`([\w./-]+)`:$")
# A row of a table with calls, whose path may be followed by a body.
CALL = re.compile(r"^\| (\w+) \| `(\w+) (/\S+)(?: (.*))?` \| (\d{3}) \|$", re.MULTILINE)
# Every transfer prints its status alone, and no progress.
CURL_HABITS = 'silent\nwrite-out = "%{stderr}%{http_code}\\n"\n'


def blocks(document: str, language: str, heading: str | None = None) -> list[str]:
    """Return the code of a document in one language, or of the section under one heading."""
    text = (ROOT / document).read_text() if heading is None else section(document, heading)
    return [code for name, code in BLOCK.findall(text) if name == language]


def section(document: str, heading: str) -> str:
    """Return the text of a document under one heading, up to the next one."""
    parts = re.split(r"^##+ (.*)$", (ROOT / document).read_text(), flags=re.MULTILINE)
    return parts[parts.index(heading) + 1]


def named_files(text: str) -> dict[str, str]:
    """Return the blocks of a text whose files are named, by the paths of these files."""
    steps = [(NAMED.search(step["before"]), step["text"]) for step in STEP.finditer(text)]
    return {named[2]: code for named, code in steps if named}


def calls(document: str, heading: str) -> list[tuple[str, str, str, object, str]]:
    """Return the calls in the table of a section: caller, verb, path, body and status."""
    found = CALL.findall(section(document, heading))
    return [(*call, json.loads(body) if body else None, status) for *call, body, status in found]


def run_shell(code: str, folder: Path, **variables: str) -> tuple[list[str], list[str], str]:
    """Run shell code in a folder; return what it says curl prints, what curl printed, and stdout.

    The code says so by a comment with the status behind each call.
    """
    (folder / ".curlrc").write_text(CURL_HABITS)
    done = subprocess.run(
        ["bash", "-eu", "-c", code],
        cwd=folder,
        env={**os.environ, **variables, "CURL_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"^(\d{3})$", done.stderr, re.MULTILINE)
    return re.findall(r"# (\d{3})$", code, re.MULTILINE), printed, done.stdout
