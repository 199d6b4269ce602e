"""A client with npm `loopback-connector-remote`: what it is answered, as clients read it."""

import json
import os
import subprocess
from pathlib import Path

from .client import Answer, Client
from .loopback3 import APPLICATION

# A link of two rows is not in the answer, as the table of documented differences says.
KNOWN = {"remote: link": (200, 200)}
SCRIPT = Path(__file__).with_name("remote.js")


def run_remote_client(client: Client, application: Path) -> list[Answer]:
    """Make the calls of `remote.js` with the ids and tokens of a client; return the answers."""
    done = subprocess.run(
        ["node", SCRIPT, application, client.url],
        input=json.dumps(client.kept),
        env={**os.environ, "NODE_PATH": str(APPLICATION / "node_modules")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    client.kept.update({each["keep"]: each["id"] for each in answers if each.get("keep")})
    return [
        {"call": each["call"], "status": each["status"], "body": client.plain(each.get("body"))}
        for each in answers
    ]
