"""Record anew what LoopBack 3 stores and answers: `python -m tests.loopback.record [NAME...]`.

It needs node, PostgreSQL and MariaDB, and installs the packages of the application.
"""

import json
import sys
import tempfile
from pathlib import Path

from .client import Client
from .geocoder import serve_geocoder
from .loopback3 import copy_application, run_loopback
from .script import CALLS, SETUP
from .sources import SOURCES, Source


def record(source: Source, folder: Path) -> None:
    """Fill the application, write its data, make the calls, and write the answers."""
    with serve_geocoder() as geocoder, source.run(folder) as database:
        copy_application(folder, source.ids, database.settings, geocoder)
        with run_loopback(folder) as url:
            client = Client(url)
            failed = [answer for answer in client.run(SETUP) if answer["status"] >= 400]
            assert not failed, failed
            data, kept = database.dump(), dict(client.kept)
            answers = Client(url, client.kept).run(CALLS)
    source.dump.parent.mkdir(parents=True, exist_ok=True)
    source.dump.write_text(data)
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    source.answers.write_text(f'{{"kept": {json.dumps(kept)},\n"answers": [\n{lines}\n]}}\n')


def main() -> None:
    for name in sys.argv[1:] or SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            record(SOURCES[name], Path(folder) / "application")


if __name__ == "__main__":
    main()
