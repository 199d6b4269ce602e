"""The shop of docs/shop.md, as printed: served, with its tables, by apps of the tests."""

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Self

import pytest
from flask import Flask
from sqlalchemy import MetaData, Table
from sqlalchemy.orm import DeclarativeBase

import app
from app.extensions import db
from app.rest.collection import check_relations
from app.users.models import User
from tests.apps import build, close
from tests.documents import blocks

DOCUMENT = "docs/shop.md"


def write_files(section: str, language: str, folder: Path) -> None:
    """Write the files of a section, each of which begins with a comment that names it."""
    for code in blocks(DOCUMENT, language, section):
        path = folder / re.match(r"# (app/\S+)\n", code)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)


@contextmanager
def imported_views(folder: Path) -> Iterator[tuple[ModuleType, MetaData]]:
    """Import the shop in Python with tables of its own, which migrations do not know."""

    class Base(DeclarativeBase):
        metadata = MetaData(naming_convention=db.metadata.naming_convention)

    User.__table__.to_metadata(Base.metadata)
    write_files("In Python", "python", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "__path__", [*app.__path__, str(folder / "app")])
        patch.setattr("app.extensions.Model", Base)
        yield importlib.import_module("app.shop.views"), Base.metadata
    for name in [each for each in sys.modules if each.startswith("app.shop")]:
        del sys.modules[name]
    del app.shop


@contextmanager
def created(service: Flask, metadata: MetaData, tables: Sequence[Table]) -> Iterator[None]:
    """Create these tables; drop them afterwards."""
    with service.app_context():
        metadata.create_all(db.engine, tables)
    yield
    with service.app_context():
        metadata.drop_all(db.engine, tables)


class Shops:
    """Shops with their apps and tables, one a database, that tests use one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apps: dict[str, Flask] = {}

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._views, self._metadata = self._stack.enter_context(imported_views(self._folder))
        self.tables = [each for each in self._metadata.sorted_tables if each.name != "users"]
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def empty_one(self, url: str) -> Iterator[Flask]:
        """Return a shop on a database, and delete its rows afterwards."""
        service = self._apps.get(url) or self._open(url)
        yield service
        with service.app_context():
            for table in reversed(self.tables):
                db.session.execute(table.delete())

    def _open(self, url: str) -> Flask:
        service = self._apps[url] = build(url, self._folder / "mail")
        self._stack.callback(close, service)
        self._views.init_app(service)
        check_relations(service)
        self._stack.enter_context(created(service, self._metadata, self.tables))
        return service
