"""The README's tour, run as printed against a live server."""

import os
import re
import shutil
import subprocess

from tests.live import ROOT, serve

CURL_HABITS = 'silent\nwrite-out = "%{stderr}%{http_code}\\n"\n'


def tour() -> str:
    """Return the shell commands of the tour."""
    readme = (ROOT / "README.md").read_text()
    section = re.search(r"^## A tour$(.*?)^## ", readme, re.DOTALL | re.MULTILINE)
    return "\n".join(re.findall(r"```sh\n(.*?)```", section[1], re.DOTALL))


def test_every_line_of_the_tour_answers_what_it_says(sqlite_template, tmp_path):
    shutil.copy(sqlite_template, tmp_path / "ostiary.sqlite")
    (tmp_path / ".curlrc").write_text(CURL_HABITS)
    said = re.findall(r"# (\d{3})\b", tour())

    with serve(tmp_path, f"sqlite:///{tmp_path}/ostiary.sqlite") as server:
        done = subprocess.run(
            ["bash", "-eu", "-c", tour().replace("http://127.0.0.1:3000", server.url)],
            cwd=tmp_path,
            env={**os.environ, "CURL_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == said
    assert len(said) >= 10
