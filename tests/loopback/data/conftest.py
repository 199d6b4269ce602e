"""An application, an app with its models, and the move of rows from a source to it."""

import json
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import pytest
from flask import Flask
from sqlalchemy import text

from app.database.session import db
from ostiary_loopback.application import Application, read_application
from ostiary_loopback.data.moving import FOLDER, move_rows
from tests.conftest import PASSWORD, Api
from tests.definitions.conftest import make_models, write_models  # noqa: F401 - fixtures

ALLOWED = [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}]
MODELS = {
    "Customer": {
        "name": "Customer",
        "base": "User",
        "properties": {"age": "number"},
        "options": {"allowEternalTokens": True},
    },
    "Note": {
        "name": "Note",
        "base": "PersistedModel",
        "properties": {
            "title": {"type": "string", "required": True, "length": 20},
            "mood": {"type": "string", "enum": ["good", "bad"]},
            "place": "geopoint",
            "tags": ["string"],
            "data": {"type": "object", "postgresql": {"columnName": "Payload"}},
            "at": "date",
            "done": "boolean",
            "secret": "string",
        },
        "hidden": ["secret"],
        "relations": {
            "customer": {"type": "belongsTo", "model": "Customer"},
            "parent": {"type": "belongsTo", "model": "Note"},
            "labels": {"type": "hasMany", "model": "Tag", "polymorphic": "about"},
        },
        "acls": ALLOWED,
        "postgresql": {"schema": "old", "table": "Notes"},
    },
    "Tag": {
        "name": "Tag",
        "base": "PersistedModel",
        "strict": False,
        "properties": {"id": {"type": "string", "id": True}, "note_id": "number"},
        "relations": {
            "note": {"type": "belongsTo", "model": "Note", "foreignKey": "note_id"},
            "customers": {"type": "hasAndBelongsToMany", "model": "Customer"},
            "about": {"type": "belongsTo", "polymorphic": True},
        },
        "acls": ALLOWED,
    },
}
OWN = ("User", "AccessToken", "Role", "RoleMapping", "ACL", "UserIdentity")
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4, b"2a")).decode()


def write_memory(path: Path, rows: dict) -> str:
    """Write a file of the memory connector."""
    models = {
        name: {str(row["id"]): json.dumps(row) for row in given} for name, given in rows.items()
    }
    path.write_text(json.dumps({"ids": dict.fromkeys(rows, 1), "models": models}))
    return str(path)


@pytest.fixture
def application(tmp_path) -> Application:
    server, models = tmp_path / "lb" / "server", tmp_path / "lb" / "common" / "models"
    server.mkdir(parents=True)
    models.mkdir(parents=True)
    for name, model in MODELS.items():
        (models / f"{name.lower()}.json").write_text(json.dumps(model))
    entries = {name: {"dataSource": "db"} for name in (*OWN, *MODELS)}
    entries["_meta"] = {"sources": ["../common/models"]}
    (server / "model-config.json").write_text(json.dumps(entries))
    (server / "datasources.json").write_text('{"db": {"name": "db", "connector": "memory"}}')
    return read_application(tmp_path / "lb")


@dataclass
class Move:
    """Moves rows to an app."""

    app: Flask
    application: Application
    folder: Path
    api: Api

    def __call__(self, source, **options):
        if isinstance(source, dict):
            source = write_memory(self.folder / "db.json", source)
        return move_rows(self.app, self.application, source, **options)

    def rows(self, query: str):
        with self.app.app_context():
            found = [tuple(row) for row in db.session.execute(text(query))]
            db.session.remove()
            return found

    @property
    def refused(self):
        """The lines of the file, as (model, id, reason)."""
        file = self.folder / "project" / FOLDER / "refused.jsonl"
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        return [tuple(entry.values()) for entry in entries]


@pytest.fixture
def move(make_models, application, tmp_path, secrets, request):  # noqa: F811
    settings = getattr(request, "param", {})
    app = make_models(MODELS, {name: {"dataSource": "db"} for name in MODELS}, **settings)
    app.instance_path = str(tmp_path / "project")
    return Move(app, application, tmp_path, Api(app.test_client(), secrets))
