"""The models that the requests are sent to, and their rows."""

import random
from collections.abc import Callable
from typing import Any

from flask import Flask
from sqlalchemy import insert

from app.database.metadata import app_metadata
from app.database.session import Model, db
from app.ids import Id
from app.times import now
from app.users.models import AccessToken, User, new_token, new_token_values

# Rows of each table, and characters of their texts and JSON: as many as one response may list, and
# as long as they may be.
ROWS, TEXT, JSON = 1000, 10_000, 20_000

# Items and tags of a shelf; relations of a shelf and of a folder beside the first one.
ITEMS, SHELF_KEYS, REPORT_KEYS = 10, 10, 4


def _has_many(model: str, foreign_key: str) -> dict[str, str]:
    return {"type": "hasMany", "model": model, "foreignKey": foreign_key}


OPEN = [
    {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"},
]
# Models in JSON, with every kind of property and relation that a filter or body can be about.
DOCUMENT = {
    "name": "Document",
    "properties": {
        "title": {"type": "string", "required": True, "length": 255},
        "text": "string",
        "rating": "number",
        "price": {"type": "decimal", "precision": 18, "scale": 4},
        "boughtAt": "date",
        "code": "uuid",
        "extra": "object",
        "tags": ["string"],
        "place": "geopoint",
    },
    "relations": {
        "parts": {"type": "embedsMany", "model": "Part", "property": "_parts"},
        "folder": {"type": "belongsTo", "model": "Folder", "foreignKey": "folderId"},
        "labels": {"type": "referencesMany", "model": "Label", "foreignKey": "tags"},
    },
    "acls": OPEN,
}
PART = {"name": "Part", "properties": {"name": "string", "size": "number"}, "acls": OPEN}
FOLDER = {
    "name": "Folder",
    "properties": {"name": "string"},
    "relations": {
        "documents": _has_many("Document", "folderId"),
        **{
            f"reports{number}": _has_many("Report", f"folder{number}Id")
            for number in range(REPORT_KEYS)
        },
    },
    "acls": OPEN,
}
# Each belongs to several folders.
REPORT = {"name": "Report", "properties": {"extra": "object", "tags": ["string"]}, "acls": OPEN}
# Rows with ten items each, and as many tags; and relations by several foreign keys.
SHELF = {
    "name": "Shelf",
    "plural": "shelves",
    "properties": {"name": "string"},
    "relations": {
        "items": _has_many("Item", "shelfId"),
        "tags": {"type": "hasAndBelongsToMany", "model": "Tag"},
        "readers": {"type": "hasMany", "model": "Reader", "through": "Loan"},
        **{f"items{number}": _has_many("Item", f"shelf{number}Id") for number in range(SHELF_KEYS)},
    },
    "acls": OPEN,
}
ITEM = {
    "name": "Item",
    "properties": {"name": "string"},
    "relations": {
        "shelf1": {"type": "belongsTo", "model": "Shelf", "foreignKey": "shelf1Id"},
        "tag": {"type": "belongsTo", "model": "Tag", "foreignKey": "tagId"},
    },
    "acls": OPEN,
}
TAG = {
    "name": "Tag",
    "properties": {"name": "string"},
    "relations": {
        "shelves": {"type": "hasAndBelongsToMany", "model": "Shelf"},
        "marked": _has_many("Item", "tagId"),
    },
    "acls": OPEN,
}
READER = {"name": "Reader", "properties": {"name": "string"}, "acls": OPEN}
LOAN = {
    "name": "Loan",
    "properties": {"until": "date"},
    "relations": {
        "shelf": {"type": "belongsTo", "model": "Shelf"},
        "reader": {"type": "belongsTo", "model": "Reader"},
    },
    "acls": OPEN,
}
# Its format takes long to match: 200 x 175 ways.
LABEL = {
    "name": "Label",
    "properties": {
        "text": {"type": "string", "length": 175, "validates": {"format": "[a-z]{1,200}!"}}
    },
    "acls": OPEN,
}
MODELS = {
    "document": DOCUMENT,
    "report": REPORT,
    "part": PART,
    "folder": FOLDER,
    "label": LABEL,
    "shelf": SHELF,
    "item": ITEM,
    "tag": TAG,
    "reader": READER,
    "loan": LOAN,
}
USER_PROPERTIES = {
    "profile": {"type": "object"},
    "tags": {"type": ["string"]},
    "nickname": {"type": "string"},
}


def fill(app: Flask, token: str, rows: int) -> None:
    """Store a user with this token, and so many rows of each model that belong to the user."""
    chance = random.Random(0)

    def text(length: int) -> str:
        return "".join(chance.choices("ab ", k=length))

    with app.app_context():
        user = User(email="ada@example.com", password_hash="!", username="ada")
        db.session.add(user)
        db.session.flush()
        for value in (token, *(new_token() for _ in range(rows))):
            db.session.add(AccessToken(user_id=user.id, **new_token_values(value, 86_400)))
        db.session.commit()
        db.session.execute(insert(Model.metadata.tables["todos"]), _todos(text, user.id, rows))
        tables = app_metadata.of(app).tables
        db.session.execute(insert(tables["folder"]), [{"id": 1, "name": "one"}])
        documents = _documents(text, rows)
        db.session.execute(insert(tables["document"]), documents)
        db.session.execute(insert(tables["report"]), list(map(_report, documents)))
        for name, items in _shelves(rows).items():
            db.session.execute(insert(tables[name]), items)
        db.session.commit()


def _todos(text: Callable[[int], str], owner: Id, rows: int) -> list[dict[str, Any]]:
    return [
        {"title": text(255), "desc": text(TEXT), "created": now(), "owner_id": owner}
        | {"is_complete": False}
        for _ in range(rows)
    ]


def _documents(text: Callable[[int], str], rows: int) -> list[dict[str, Any]]:
    """Return rows whose JSON is as long as it may be, with many values."""
    names = [f"n{number}" for number in range(JSON // 12)]
    extra = {"deep": {"deep": {"deep": {"city": "a"}}}, **dict.fromkeys(names, 1)}
    return [
        {
            "title": text(100),
            "text": text(TEXT),
            "rating": number / 7,
            # Different in each row, because SQLite keeps the last JSON that it has parsed.
            "extra": {"row": number, **extra},
            "tags": [text(1) for _ in range(JSON // 6)],
            "parts": [{"id": number, "name": text(3)} for number in range(JSON // 27)],
            "place": {"lat": number % 90, "lng": number % 180},
            "folder_id": 1,
        }
        for number in range(rows)
    ]


def _report(document: dict[str, Any]) -> dict[str, Any]:
    keys = {f"folder{key}_id": 1 for key in range(REPORT_KEYS)}
    return {"extra": document["extra"], "tags": document["tags"], **keys}


def _shelves(rows: int) -> dict[str, list[dict[str, Any]]]:
    """Return rows of the models that are related to many, by table."""
    shelves = [{"id": number + 1, "name": f"shelf {number}"} for number in range(rows)]
    return {
        "shelf": shelves,
        "tag": [{"id": number + 1, "name": f"tag {number}"} for number in range(ITEMS)],
        "item": [
            {"name": f"item {number}", "shelf_id": shelf["id"], "tag_id": number + 1}
            | {f"shelf{key}_id": shelf["id"] for key in range(SHELF_KEYS)}
            for shelf in shelves
            for number in range(ITEMS)
        ],
        "shelf_tag": [
            {"shelf_id": shelf["id"], "tag_id": number + 1}
            for shelf in shelves
            for number in range(ITEMS)
        ],
    }
