"""Serve the project in the current folder, make the recorded calls, and print the answers.

`python -m tests.loopback.replay KEPT`, with the recorded ids and tokens as JSON. A process of its
own: the tables and modules of a project are those of its process.
"""

import json
import sys
from datetime import UTC, datetime

from app.factory import create_app
from tests.support.live import serve_app

from .client import Client
from .script import CALLS


def main() -> None:
    started = datetime.now(UTC)
    with serve_app(create_app()) as url:
        answers = Client(f"{url}/api", json.loads(sys.argv[1]), started).run(CALLS)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
