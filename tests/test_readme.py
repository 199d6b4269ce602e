"""The README's promises: its tour, run as printed, and its example of a model."""

import json
import os
import re
import shutil
import subprocess
import sys

from tests.live import ROOT, serve

CURL_HABITS = 'silent\nwrite-out = "%{stderr}%{http_code}\\n"\n'


# What a reader would do with the model of the README, once it is in place.
NOTES = """
import json, sys
from app.extensions import db
from app.factory import create_app
from app.rest.collection import collection, serve
from notes.resource import notes

folder, line = sys.argv[1:]
app = create_app({"SQLALCHEMY_DATABASE_URI": f"sqlite:///{folder}/x.sqlite", "MAIL_FOLDER": folder})
exec(line)
with app.app_context():
    db.create_all()
client = app.test_client()
ada = {"email": "ada@example.com", "password": "a quiet harbour"}
client.post("/api/users", json=ada)
headers = {"Authorization": client.post("/api/users/login", json=ada).json["id"]}
made = client.post("/api/notes", json={"text": "hello"}, headers=headers).json
few_stars = '/api/notes?filter={"where":{"stars":{"lt":1}},"include":"owner"}'
found = client.get(few_stars, headers=headers)
print(json.dumps([made, found.json, client.get("/api/notes").status_code]))
"""


def blocks(heading: str, language: str) -> list[str]:
    """Return the code of a section."""
    readme = (ROOT / "README.md").read_text()
    section = re.search(rf"^## {heading}$(.*?)^## ", readme, re.DOTALL | re.MULTILINE)
    return re.findall(rf"```{language}\n(.*?)```", section[1], re.DOTALL)


def tour() -> str:
    return "\n".join(blocks("A tour", "sh"))


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


def test_the_example_of_a_model_works_as_printed(tmp_path):
    *files, line = blocks("Add a model", "python")
    (tmp_path / "notes").mkdir()
    for text in files:
        name = re.match(r"# app/(notes/\w+\.py)\n", text)[1]
        (tmp_path / name).write_text(text)

    done = subprocess.run(
        [sys.executable, "-c", NOTES, str(tmp_path), line],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    made, found, without_token = json.loads(done.stdout)
    assert made == {"id": 1, "text": "hello", "stars": 0, "ownerId": 1}
    assert found == [{**made, "owner": found[0]["owner"]}]
    assert found[0]["owner"]["email"] == "ada@example.com"
    assert without_token == 401
