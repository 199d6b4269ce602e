"""The shop of docs/shop.md, as printed: served, with its tables, by apps of the tests."""

import importlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Self

import pytest
from flask import Flask
from sqlalchemy import MetaData, Table
from sqlalchemy.orm import DeclarativeBase

import app
from app.database.metadata import all_metadata, app_metadata
from app.database.session import db, transaction
from app.rest.views.collection import check_relations
from app.testing.apps import close
from app.users.models import User
from tests.definitions.conftest import running_a_command

from .apps import build
from .documents import blocks

DOCUMENT = "docs/shop.md"
JSON, PYTHON = "In JSON", "In Python"


def write_files(section: str, folder: Path) -> None:
    """Write the files of a section; a comment, or the name of the model, names each."""
    files = {
        f"instance/models/{json.loads(model)['name']}.json": model
        for model in blocks(DOCUMENT, "json", section)
    }
    for code in blocks(DOCUMENT, "python", section):
        files[re.match(r"# (\S+)\n", code)[1]] = code
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@contextmanager
def imported_views(folder: Path) -> Iterator[tuple[ModuleType, MetaData]]:
    """Import the shop in Python with tables of its own, which migrations do not know."""

    class Base(DeclarativeBase):
        metadata = MetaData(naming_convention=db.metadata.naming_convention)

    User.__table__.to_metadata(Base.metadata)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "__path__", [*app.__path__, str(folder / "app")])
        patch.setattr("app.database.session.Model", Base)
        yield importlib.import_module("app.shop.views"), Base.metadata
    for name in [module for module in sys.modules if module.startswith("app.shop")]:
        del sys.modules[name]
    del app.shop


@contextmanager
def created(service: Flask, tables: Sequence[Table]) -> Iterator[None]:
    """Create these tables; drop them afterwards."""
    with service.app_context():
        tables[0].metadata.create_all(db.engine, tables)
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

    def __init__(self, section: str, folder: Path) -> None:
        self._folder = folder
        self._make = {JSON: self._make_from_json, PYTHON: self._make_from_python}[section]
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

    def _make_from_json(self, url: str) -> Shop:
        folder = str(self._folder / "instance" / "models")
        with running_a_command():
            service = build(url, self._folder / "mail", MODELS_FOLDER=folder)
        own = app_metadata.of(service).tables
        return Shop(
            service, [table for table in all_metadata(service).sorted_tables if table.name in own]
        )

    def _make_from_python(self, url: str) -> Shop:
        views, metadata = self._views
        service = build(url, self._folder / "mail")
        views.init_app(service)
        check_relations(service)
        return Shop(service, [table for table in metadata.sorted_tables if table.name != "users"])

    @cached_property
    def _views(self) -> tuple[ModuleType, MetaData]:
        return self._stack.enter_context(imported_views(self._folder))
