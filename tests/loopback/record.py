"""Record anew what LoopBack 3 stores and answers: `python -m tests.loopback.record [NAME...]`.

The names are those of the kinds of databases, for the library of tools, and `shop`. It needs node,
PostgreSQL and MariaDB, and installs the packages of the application.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .client import Client
from .geocoder import serve_geocoder
from .loopback3 import APPLICATION, copy_application, run_loopback
from .script import CALLS, SETUP, Call
from .shop import drill as shop
from .sources import SOURCES, Source


def record_library(name: str, folder: Path) -> None:
    """Record the library of tools, with a kind of database."""
    with serve_geocoder() as geocoder:
        record(SOURCES[name], folder, APPLICATION, SETUP, CALLS, geocoder)


def record(
    source: Source,
    folder: Path,
    application: Path,
    setup: Sequence[Call],
    calls: Sequence[Call],
    geocoder: str | None = None,
) -> None:
    """Fill an application, write its data, make the calls, and write the answers."""
    with source.run(folder) as database:
        copy_application(folder, source.ids, database.settings, geocoder, application)
        with run_loopback(folder) as url:
            client = Client(url)
            failed = [answer for answer in client.run(setup) if answer["status"] >= 400]
            assert not failed, failed
            data, kept = database.dump(), dict(client.kept)
            client = Client(url, client.kept)
            answers = client.run(calls)
    source.dump.parent.mkdir(parents=True, exist_ok=True)
    source.dump.write_text(data)
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    # What the client has kept before and after.
    before, after = json.dumps(kept), json.dumps(client.kept)
    source.answers.write_text(
        f'{{"kept": {before},\n"later": {after},\n"answers": [\n{lines}\n]}}\n'
    )


def main() -> None:
    for name in sys.argv[1:] or [*SOURCES, "shop"]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "application"
            if name == "shop":
                record(shop.SOURCE, folder, shop.APPLICATION, shop.SETUP, shop.CALLS)
            else:
                record_library(name, folder)


if __name__ == "__main__":
    main()
