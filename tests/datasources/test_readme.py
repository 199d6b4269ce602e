"""The README's data source and its Python, as printed, against a stand-in."""

import json
import subprocess
import sys

from tests.datasources.conftest import LOCATION
from tests.installation import Installation
from tests.test_readme import blocks

SECTION = "Call other services"


def test_the_geocoder_of_the_readme_answers_to_the_command(tmp_path, server):
    installation = Installation(tmp_path)
    line = blocks(SECTION, "sh")[0].rpartition(" && ")[0]
    settings = blocks(SECTION, "json")[0].replace("http://127.0.0.1:8099", server.url)
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
    body = json.loads((tmp_path / "geo" / "geocode.json").read_text())
    server.routes["geocode.json"] = lambda handler: handler.reply(body)
    (tmp_path / "instance" / "datasources.json").write_text(settings)

    words = ["street=107 S B St", "city=San Mateo", "zipcode=94401"]
    result = installation.run("-m", "flask", "datasources", "call", "geo", "geocode", *words)

    assert json.loads(result.stdout) == LOCATION, result.stderr
    assert server.seen[0]["query"] == "address=107%20S%20B%20St%2CSan%20Mateo%2C94401&sensor=false"


def test_the_python_of_the_readme_runs_as_printed(tmp_path, server, capsys):
    user = {"id": 1, "name": "Mary", "joinedAt": "2026-01-02T03:04:05.678Z"}
    found = {"results": [{"geometry": {"location": LOCATION}}]}
    server.routes["geocode.json"] = lambda handler: handler.reply(found)
    server.routes["users"] = lambda handler: handler.reply(
        [user] if handler.command == "GET" and handler.path.count("/") == 1 else user
    )
    (tmp_path / "instance").mkdir()
    settings = blocks(SECTION, "json")[0].replace("http://127.0.0.1:8099", server.url)
    (tmp_path / "instance" / "datasources.json").write_text(settings)
    code = "\n".join(blocks(SECTION, "python")).replace("http://127.0.0.1:8099", server.url)

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"None {LOCATION} <Response 200")
    calls = [(each["method"], each["path"]) for each in server.seen if "users" in each["path"]]
    assert calls == [
        ("POST", "/users"),
        ("GET", "/users"),
        ("GET", "/users/1"),
        ("PUT", "/users/1"),
        ("DELETE", "/users/1"),
        ("GET", "/users"),
    ]
    assert server.seen[-1]["headers"]["authorization"] == "Bearer of-this-user"
    assert server.seen[-1]["headers"]["x-tenant"] == "t1"


def test_the_options_of_the_readme_are_options(monkeypatch, connect):
    monkeypatch.setenv("GEO_TOKEN", "a planted secret")

    source = connect([], options=json.loads(blocks(SECTION, "json")[1]))

    assert "a planted secret" not in repr(source)
