"""npm's `eventsource` as a client: it connects again by itself, and continues after a restart."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.node_packages import install
from tests.support.programs import require

from .test_parked import callers, create, server  # noqa: F401 fixtures

pytestmark = pytest.mark.live
FOLDER = Path(__file__).parent / "eventsource_node"


def test_a_client_of_npm_continues_after_a_restart(server, callers):  # noqa: F811
    require("node")
    install(FOLDER)
    url = f"{server.url}/api/todos/change-stream?access_token={callers[0]['Authorization']}"
    command = ["node", "listen.js", url]
    with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True) as client:
        try:
            opened = json.loads(client.stdout.readline())
            before = create(server, callers[0], "Before")["id"]
            first = json.loads(client.stdout.readline())
            server.stop()
            server.start()
            meanwhile = create(server, callers[0], "Meanwhile")["id"]
            reopened, second = (json.loads(client.stdout.readline()) for _ in range(2))
        finally:
            client.kill()

    assert opened == reopened == {"open": True}
    assert [each["target"] for each in (first, second)] == [before, meanwhile]
    assert {each["type"] for each in (first, second)} == {"create"}
    assert first["id"] != second["id"]
