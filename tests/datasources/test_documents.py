"""The documented data source, resource and hook, as printed, against a stand-in."""

import json
import os
import re
import subprocess
import sys

import pytest

from app.connector import ConnectorError
from app.connector.operation.response_path import ResponsePath
from app.connector.settings.schema import DataSourceSettings, TemplateSettings
from tests.support.documents import blocks, run_shell
from tests.support.installation import ROOT, Installation

from .conftest import LOCATION

DOCUMENT = "docs/connector.md"
GEOCODER = "http://127.0.0.1:8099"
USER = {"id": 1, "name": "Mary", "joinedAt": "2026-01-02T03:04:05.678Z"}


@pytest.fixture
def installation(tmp_path, server):
    """An installation with the documented data source, whose geocoder is the stand-in."""
    installation = Installation(tmp_path)
    settings = blocks(DOCUMENT, "json")[0].replace(GEOCODER, server.url)
    (tmp_path / "datasources.json").write_text(settings)
    line = blocks(DOCUMENT, "sh")[0].rpartition(" && ")[0]
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
    body = json.loads((tmp_path / "geo" / "geocode.json").read_text())
    server.routes["geocode.json"] = lambda handler: handler.reply(body)
    return installation


@pytest.mark.live
def test_the_documented_commands_work(installation, server):
    code = blocks(DOCUMENT, "sh")[1]

    path = f"{sys.prefix}/bin:{os.environ['PATH']}"
    environment = installation.environment(PATH=path, INSTANCE_PATH=str(installation.folder))
    *_, printed = run_shell(code, installation.folder, **environment)

    assert printed.startswith("Checked 1 data sources with 1 functions: all in order.\n")
    assert json.dumps(LOCATION, indent=2) in printed
    assert f"curl -X GET '{server.url}/geocode.json?address=107%20S%20B%20St" in printed
    [call] = server.seen
    assert call["query"] == "address=107%20S%20B%20St%2CSan%20Mateo%2C94401&sensor=false"


@pytest.mark.live
def test_the_documented_python_runs_as_printed(installation, server):
    pages = {"": {"rows": [1, 2], "cursor": "b"}, "b": {"rows": [3]}}
    server.routes["rows"] = lambda handler: handler.reply(pages[handler.query.get("cursor", "")])
    server.routes["users"] = lambda handler: handler.reply(
        [USER] if handler.command == "GET" and handler.path.count("/") == 1 else USER
    )
    code = "\n".join([*blocks(DOCUMENT, "python"), "print(rows)"]).replace(GEOCODER, server.url)

    done = installation.run("-c", code)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"None {LOCATION} <Response 200")
    assert done.stdout.endswith("[1, 2, 3]\n")
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


def test_the_documented_options_are_options(monkeypatch, connect):
    monkeypatch.setenv("GEO_TOKEN", "a planted secret")

    source = connect([], options=json.loads(blocks(DOCUMENT, "json", "Options")[0]))

    assert "a planted secret" not in repr(source)


def test_the_documented_response_paths_give_what_the_table_says():
    body = json.loads(blocks(DOCUMENT, "json", "Response paths")[0])
    rows = re.findall(r"^\| `(.+)` \| `(.+)` \| (.+) \|$", section("Response paths"), re.MULTILINE)

    found = {path: select(path, body) for path, _, _ in rows}

    assert len(rows) > 30
    assert found == {
        path: loopback if ours == "the same" else ours.strip("`") for path, loopback, ours in rows
    }


def section(heading):
    """Return the text under a heading."""
    text = (ROOT / DOCUMENT).read_text()
    return text.partition(f"\n### {heading}\n")[2].partition("\n## ")[0]


def select(path, body):
    """Return what a response path gives, as the table says it."""
    try:
        found = ResponsePath(path, "all").select(body)
    except ValueError:
        return "refused"
    return json.dumps(found, separators=(",", ":"))


def test_every_key_and_every_error_is_documented():
    text = (ROOT / DOCUMENT).read_text()
    names = {
        *DataSourceSettings().fields,
        *TemplateSettings().fields,
        *map(str, errors(ConnectorError)),
    }

    assert {name for name in names if f"`{name}`" not in text} == set()


def errors(kind):
    """Yield the names of the classes below an error."""
    for each in kind.__subclasses__():
        yield each.__name__
        yield from errors(each)
