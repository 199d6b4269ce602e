"""A library whose document has what generators of clients meet: uuids, relations, every type."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask

from app.database.metadata import app_metadata
from app.migrate.running import upgrade
from app.testing.apps import close
from tests.definitions.conftest import running_a_command, tables_of
from tests.support.apps import build


def required(type_: Any, **declared: Any) -> dict[str, Any]:
    """Return the declaration of a required property."""
    return {"type": type_, "required": True, **declared}


ACLS = [{"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}]
AUTHOR = {
    "name": "Author",
    "properties": {"name": required("string"), "born": "dateonly"},
    "relations": {"books": {"type": "hasMany", "model": "Book"}},
    "acls": ACLS,
}
BOOK = {
    "name": "Book",
    "properties": {
        "title": required("string", validates={"length": {"min": 3, "max": 60}}),
        "price": required("decimal", precision=6),
        "share": {"type": "decimal", "precision": 2, "scale": 2},
        "binding": required("string", enum=["hard", "paper"]),
        "shelf": {"type": "string", "enum": ["A", "B"], "default": "B"},
        "language": required("string", enum=["de", "en"], validates={"in": ["en"]}),
        "stars": required("number", validates={"min": 3, "max": 5}),
        "floor": required("integer", validates={"max": 0}),
        "volumes": required("integer", validates={"in": [5, 7]}),
        "country": required("string", length=2),
        "serial": required("string", validates={"length": {"is": 8}}),
        "code": {"type": "uuid"},
        "record": required("objectid", description="In the old catalogue."),
        "isLent": {"type": "boolean", "default": False},
        "released": required("dateonly"),
        "bought": required("date"),
        "place": required("geopoint"),
        "details": {"type": "object"},
        "words": {"type": ["string"]},
        "pages": {"type": ["number"]},
    },
    "relations": {
        "author": {"type": "belongsTo", "model": "Author"},
        "topics": {"type": "hasAndBelongsToMany", "model": "Topic"},
    },
    "acls": ACLS,
}
TOPIC = {"name": "Topic", "properties": {"name": required("string")}, "acls": ACLS}
SETTINGS = {
    "ID_TYPE": "uuid",
    "USER_PROPERTIES": {
        "name": required("string"),
        "plan": {"type": "string", "enum": ["free", "paid"], "default": "free"},
        "credit": {"type": "decimal"},
        "birthday": {"type": "dateonly"},
    },
    "EMAIL_VERIFICATION": "optional",
    "EMAIL_CHANGE": "confirmed",
    "TOKEN_MIDDLEWARE": {"currentUserLiteral": "me"},
}


@contextmanager
def library(folder: Path) -> Iterator[Flask]:
    """Build the app, with a database and files in a folder."""
    models = folder / "models"
    models.mkdir()
    for model in (AUTHOR, BOOK, TOPIC):
        (models / f"{model['name']}.json").write_text(json.dumps(model))
    url = f"sqlite:///{folder}/library.sqlite"
    with running_a_command():
        app = build(url, folder / "mail", MODELS_FOLDER=str(models), **SETTINGS)
    with app.app_context():
        upgrade()
    for table in app_metadata.of(app).tables.values():
        # Migrations write a key so that SQLite ignores this for uuids; create_all does not.
        table.dialect_options["sqlite"]["autoincrement"] = False
    with tables_of(app):
        yield app
    close(app)
