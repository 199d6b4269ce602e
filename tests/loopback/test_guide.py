"""The walk of docs/migration.md, from the folder of the application to the way back.

In place of LoopBack 3 there is a server with its recorded answers, and 404 for other calls.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
from werkzeug.wrappers import Request, Response

from tests.support.documents import blocks
from tests.support.live import serve_app
from tests.support.nginx import proxy_to
from tests.support.ports import free_port
from tests.support.waiting import eventually

from .client import Client
from .loopback3 import APPLICATION
from .replay import WRITTEN
from .restored import fresh_dump
from .script import ADA
from .sources import SOURCES

pytestmark = pytest.mark.live

DOCUMENT = "docs/migration.md"
SOURCE = SOURCES["memory"]
INSTALL = 'pip install --quiet "$WHEEL[import]"\n'
LINE = '- - - [x] "GET {} HTTP/1.1" 200 5 "-" "-"\n'


class Recorded:
    """A WSGI application with the recorded answers of LoopBack 3 to reading calls, and a login."""

    def __init__(self, kept, answers):
        self.answers, self.paths, self.token = {}, [], kept["token of ada"]
        client = Client("/api", kept)
        for answer in answers:
            caller, _, request = answer["call"].partition(": ")
            verb, path = request.split(" ", 1)
            if verb == "GET" and not set(re.findall(r"\{(\w+)\}", path)) - kept.keys():
                path = client.url + client._filled(path)
                self.paths.append(path)
                key = kept.get(f"token of {caller}"), *asked(path)
                body = client._filled(json.dumps(answer["body"])).encode()
                self.answers.setdefault(key, (answer["status"], body))

    @Request.application
    def __call__(self, request):
        if (request.method, request.path) == ("POST", "/api/Members/login"):
            assert request.form.to_dict() == ADA
            return Response(f'{{"id":"{self.token}"}}', content_type="application/json")
        key = request.headers.get("Authorization"), *asked(request.full_path)
        status, body = self.answers.get(key, (404, b'{"error": {"statusCode": 404}}'))
        return Response(body, status, content_type="application/json")


def asked(target):
    """Return the path and the query of a request, however they are encoded."""
    parts = urlsplit(target)
    return parts.path, tuple(parse_qsl(parts.query, keep_blank_values=True))


class Walk:
    """Executes the commands of the guide as in one shell, with other ports."""

    def __init__(self, folder):
        # The current folder, the variables of the shell, and the blocks that were executed.
        self.folder, self.state, self.done = folder, folder / "state.sh", []
        self.state.touch()
        self.ports = {name: str(free_port()) for name in ("3000", "3001", "8080")}
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("APP_")},
            "PATH": f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "WEB_CONCURRENCY": "1",
            "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
        }
        self.environment.pop("DATABASE_URL", None)

    def address(self, port):
        return f"http://127.0.0.1:{self.ports[port]}"

    def localize(self, text):
        # The calls of a service that people use are sent more slowly.
        text = text.replace(
            "loopback compare --old $OLD --new $NEW --token",
            "loopback compare --rate 1000 --old $OLD --new $NEW --token",
        )
        return re.sub(r"\b(3000|3001|8080)\b", lambda found: self.ports[found[0]], text)

    def shell(self, heading, number, before="", after=""):
        """Return the options of the process for a block, with code before and after it."""
        block = blocks(DOCUMENT, "sh", heading)[number]
        self.done.append(block)
        code = f". {self.state}\n{before}{self.localize(block).strip()}{after}"
        return {"args": ["bash", "-euc", code], "cwd": self.folder, "env": self.environment}

    def run(self, heading, number=0, status=0):
        """Execute a block, and return what it printed."""
        folder = self.state.with_name("folder")
        after = f"\nexport -p > {self.state}\npwd > {folder}"
        done = subprocess.run(
            **self.shell(heading, number, after=after),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        self.folder = Path(folder.read_text().strip())
        return done.stdout

    @contextmanager
    def serving(self, heading, port, number=0):
        """Execute a block that serves, until the end."""
        # A signal for the shell is one for the command, which is the last of the block.
        options = self.shell(heading, number, before='ostiary() { exec ostiary "$@"; }\n')
        with (self.folder / "serving.log").open("a") as log:
            process = subprocess.Popen(**options, stdout=log, stderr=log)
        try:
            wait_for(f"{self.address(port)}/ready", self.folder / "serving.log")
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def wait_for(url, log):
    def answer():
        try:
            # Also one that refuses is an answer.
            return [requests.get(url, timeout=60)]
        except requests.ConnectionError:
            return []

    return eventually(answer, told=log.read_text)[0]


@pytest.fixture
def walk(tmp_path):
    """A folder that has the application with its data alone."""
    walk = Walk(tmp_path)
    application = tmp_path / "tool-library"
    for name in ("common", "server"):
        shutil.copytree(APPLICATION / name, application / name)
    manuals = application / "files" / "manuals"
    manuals.mkdir(parents=True)
    (manuals / "saw.txt").write_text("Saw slowly.\n")
    return walk


def is_new(url, path, token=None):
    """Tell whether the new service answers, which it must do without an error."""
    response = requests.get(f"{url}{path}", headers={"Authorization": token}, timeout=60)
    assert response.status_code == 200, response.text
    return "X-Request-Id" in response.headers


def test_the_guide_leads_to_the_switch_and_back(walk):
    recorded = json.loads(SOURCE.answers.read_text())
    kept = recorded["kept"]
    old = Recorded(kept, recorded["answers"])
    tokens = {name: kept[f"token of {name}"] for name in ("ada", "librarian")}
    (walk.folder / "tool-library" / "data.json").write_text(
        fresh_dump(SOURCE, [*tokens.values(), kept["token of grace"]])
    )

    [report] = blocks(DOCUMENT, "text", "Inspect")
    assert walk.run("Inspect").startswith(report)
    assert "\nWrote 19 files, kept 0; " in walk.run("Import the models")
    [stubs] = blocks(DOCUMENT, "text", "What is written by hand")
    assert walk.run("What is written by hand") == stubs
    shutil.copytree(WRITTEN, walk.folder, dirs_exist_ok=True)
    assert "there is no stub" in walk.run("What is written by hand", 1)
    [rows] = blocks(DOCUMENT, "text", "Import the rows")
    with serve_app(old, int(walk.ports["3000"])):
        walk.run("Import the rows")
        assert rows in walk.run("Import the rows", 1)
        (walk.folder / "access.log").write_text("".join(map(LINE.format, old.paths)))
        with walk.serving("Run", "3001"):
            compared = walk.run("Compare", status=1)
            [moved] = blocks(DOCUMENT, "text", "Shadow")
            (walk.folder / "moved.txt").write_text(moved)
            with walk.serving("Shadow", "8080"):
                proxy = walk.address("8080")
                seen = [
                    is_new(proxy, "/api/Categories"),
                    is_new(proxy, f"/api/Members/{kept['ada']}", tokens["ada"]),
                ]
        assert seen == [True, False]
        kinds = dict(re.findall(r"^(\w+(?: \w+)*)  +(yes|no) ", compared, re.MULTILINE))
        assert "allowed" not in kinds
        assert {"own record", "null"} <= kinds.keys()

        assert rows in walk.run("Switch")
        [upstream] = blocks(DOCUMENT, "nginx", "Switch")
        with walk.serving("Switch", "3001", 1):
            assert is_new_behind(walk, upstream)
        assert "The old service was 127.0.0.1:3000." in upstream
        assert not is_new_behind(walk, upstream.replace("3001", "3000"))
    # That which installs is executed for other documents.
    assert blocks(DOCUMENT, "sh") == [INSTALL, *walk.done]


def is_new_behind(walk, upstream):
    with proxy_to(walk.folder, free_port(), "api", walk.localize(upstream)) as url:
        return is_new(url, "/api/Categories")


def test_the_code_before_and_after_is_that_of_the_application():
    before = (APPLICATION / "common" / "models" / "tool.js").read_text()
    after = (WRITTEN / "models" / "tool.py").read_text()
    heading = "What is written by hand"

    for code in blocks(DOCUMENT, "js", heading):
        assert textwrap.indent(code, "  ") in before
    for code in blocks(DOCUMENT, "python", heading):
        parts = [part.strip() for part in code.split("\n\n\n")]
        assert [part for part in parts if part not in textwrap.dedent(after)] == []
    for code in blocks(DOCUMENT, "py", heading):
        assert textwrap.indent(code, "    ") in after
    assert len(blocks(DOCUMENT, "js", heading)) == len(blocks(DOCUMENT, "python", heading)) == 2
