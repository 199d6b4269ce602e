"""Places of drills: a migrated, empty database of SQLite or PostgreSQL, and a folder."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.databases import migrate
from tests.support.postgres import postgres_server


@dataclass
class Place:
    """A database, and a folder for the files of the service."""

    name: str
    url: str
    folder: Path


@contextmanager
def places(*names: str, **settings: Any) -> Iterator[list[Place]]:
    """Yield a place for each name: "sqlite" or "postgresql"; both by default.

    They are migrated with these settings.
    """
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ostiary-drill-")))
        yield [
            _make_place(name, root, stack, settings) for name in names or ("sqlite", "postgresql")
        ]


def _make_place(name: str, root: Path, stack: ExitStack, settings: dict[str, Any]) -> Place:
    folder = root / name
    folder.mkdir()
    sqlite = f"sqlite:///{folder}/ostiary.sqlite"
    url = sqlite if name == "sqlite" else stack.enter_context(postgres_server())
    migrate(url, folder, **settings)
    return Place(name, url, folder)
