"""The shop of docs/shop.md, as printed: served, with its tables, by apps of the tests."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from flask import Flask
from sqlalchemy import Table

from app.database.metadata import all_metadata, app_metadata, derived_objects, project_tables
from app.database.session import db, transaction
from app.testing.apps import close
from tests.definitions.conftest import running_a_command

from .apps import build
from .documents import blocks

DOCUMENT = "docs/shop.md"
JSON, PYTHON = "In JSON", "In Python"


def write_files(section: str, folder: Path) -> None:
    """Write the files of a section; a comment, or the name of the model, names each."""
    files = {
        f"models/{json.loads(model)['name']}.json": model
        for model in blocks(DOCUMENT, "json", section)
    }
    for code in blocks(DOCUMENT, "python", section):
        files[re.match(r"# (\S+)\n", code)[1]] = code
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@contextmanager
def created(service: Flask, tables: Sequence[Table]) -> Iterator[None]:
    """Create these tables; drop them afterwards."""
    with service.app_context():
        tables[0].metadata.create_all(db.engine, tables)
        with db.engine.begin() as connection:
            derived_objects.current.update(connection)
    yield
    with service.app_context():
        tables[0].metadata.drop_all(db.engine, tables)


class Shop:
    """A shop that an app serves, and its tables."""

    def __init__(self, app: Flask, tables: Sequence[Table]) -> None:
        self.app, self.tables = app, tables

    def empty(self) -> None:
        """Delete all rows."""
        with self.app.app_context(), transaction():
            for table in reversed(self.tables):
                db.session.execute(table.delete())


class Shops:
    """The shops of one kind, in JSON or in Python, that tests use one after the other."""

    def __init__(self, section: str, folder: Path, **settings: Any) -> None:
        self._folder, self._settings = folder, settings
        self._open: dict[str, Shop] = {}
        write_files(section, folder)

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def get(self, url: str) -> Iterator[Shop]:
        """Return the shop on a database, and delete its rows afterwards."""
        shop = self._open[url] = self._open.get(url) or self._serve(url)
        yield shop
        shop.empty()

    def _serve(self, url: str) -> Shop:
        shop = self._make(url)
        self._stack.callback(close, shop.app)
        self._stack.enter_context(created(shop.app, shop.tables))
        return shop

    def _make(self, url: str) -> Shop:
        folder = str(self._folder / "models")
        with running_a_command():
            service = build(url, self._folder / "mail", MODELS_FOLDER=folder, **self._settings)
        own = {*project_tables(), *app_metadata.of(service).tables}
        return Shop(
            service, [table for table in all_metadata(service).sorted_tables if table.name in own]
        )
