"""Import the application into the current folder, as a user does, and make the calls.

`python -m tests.loopback.replay APPLICATION SOURCE KEPT`, with the recorded ids and tokens as JSON;
prints the answers. A process of its own: a project's tables and modules are those of its process.
"""

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from app.factory import create_app
from ostiary.__main__ import main as ostiary
from tests.support.live import serve_app

from .client import Answer, Client
from .script import CALLS

# What is written by hand after the import of the models.
WRITTEN = Path(__file__).parent / "written"


def replay(application: str, source: str, kept: str) -> list[Answer]:
    started = datetime.now(UTC)
    command = ["loopback", "import", application]
    ostiary([*command, "--models-only"], standalone_mode=False)
    shutil.copytree(WRITTEN, Path.cwd(), dirs_exist_ok=True)
    ostiary([*command, "--data", source], standalone_mode=False)
    with serve_app(create_app()) as url:
        return Client(f"{url}/api", json.loads(kept), started).run(CALLS)


if __name__ == "__main__":
    answers = replay(*sys.argv[1:])
    sys.stdout.write(f"\n{json.dumps(answers)}\n")
