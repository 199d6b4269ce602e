"""Applications whose clients are compiled: their documents, by name."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask

from app.testing.apps import close
from tests.definitions.conftest import running_a_command
from tests.openapi import library
from tests.support.apps import build
from tests.support.second_factors import FACTOR_KEY
from tests.support.shop import JSON, write_files

ACLS = [{"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}]
# Sites with shifts for which volunteers sign up: relations of all kinds, properties that are not
# shown, and names that TypeScript or the client has itself.
FOOD_BANK = [
    {
        "name": "Site",
        "properties": {
            "name": {"type": "string", "required": True},
            "doorCode": "string",
            "address": {"type": {"street": "string", "city": "string"}},
            "first-line": {"type": "string", "description": "Shown */ first."},
        },
        "protected": ["doorCode"],
        "relations": {
            "shifts": {"type": "hasMany", "model": "Shift"},
            "images": {"type": "hasMany", "model": "Image", "polymorphic": "subject"},
        },
    },
    {
        "name": "Shift",
        "properties": {
            "begins": {"type": "date", "required": True},
            "places": {"type": "integer", "required": True},
            "state": {"type": "string", "enum": ["open", "a | b", 'the "last"; one']},
        },
        "relations": {
            "site": {"type": "belongsTo", "model": "Site"},
            "volunteers": {"type": "hasMany", "model": "Volunteer", "through": "SignUp"},
            "count": {"type": "belongsTo", "model": "Site", "foreignKey": "countId"},
        },
    },
    {
        "name": "SignUp",
        "plural": "sign-ups",
        "properties": {"hours": "number"},
        "relations": {
            "shift": {"type": "belongsTo", "model": "Shift"},
            "volunteer": {"type": "belongsTo", "model": "Volunteer"},
        },
    },
    {
        "name": "Volunteer",
        "base": "User",
        "properties": {"phone": "string", "languages": ["string"]},
        "relations": {"shifts": {"type": "hasMany", "model": "Shift", "through": "SignUp"}},
    },
    {
        "name": "Image",
        "properties": {"url": "string"},
        "relations": {"subject": {"type": "belongsTo", "polymorphic": True}},
    },
    {"name": "Response", "plural": "class", "properties": {"text": "string"}},
    {"name": "Filter", "strict": False, "properties": {"weight": "number"}},
    {"name": "parcel", "idInjection": True, "properties": {"sku": {"type": "string", "id": True}}},
    {
        "name": "Basket",
        "relations": {
            "wrapping": {"type": "embedsOne", "model": "Response", "property": "wrappingData"},
            "parcels": {"type": "referencesMany", "model": "parcel"},
        },
    },
]
# Models whose types, calls or paths are named like others, or like what JavaScript has itself.
ODD = [
    *({"name": name} for name in ("Book", "BookCreate", "BookFilter", "Awaited", "Uint8Array")),
    {"name": "book-item", "http": {"path": "shop/items"}},
    {"name": "bookItem", "sqlite3": {"table": "others"}, "postgresql": {"table": "others"}},
    {
        "name": "Thing",
        "plural": "__proto__",
        "properties": {"__proto__": "string", "class": "string", "constructor": "string"},
        "relations": {
            "new": {"type": "belongsTo", "model": "Book", "foreignKey": "newId"},
            "then": {"type": "belongsTo", "model": "Book", "foreignKey": "thenId"},
            "toString": {"type": "hasMany", "model": "Book", "foreignKey": "thingId"},
        },
    },
]
REMOTE = {
    "geo": {
        "connector": "rest",
        "public": True,
        "operations": [
            {
                "template": {
                    "method": "GET",
                    "url": "http://127.0.0.1:9/geo/{!city}",
                    "query": {"limit": "{limit=5:number}"},
                },
                "functions": {"lookup": ["city", "limit"]},
            }
        ],
    }
}


def shop(folder: Path) -> dict[str, Any]:
    """Write the shop; return the settings of an app with it."""
    write_files(JSON, folder)
    return {"MODELS_FOLDER": str(folder / "models"), "CHANGES": ["orders"]}


def everything(folder: Path) -> dict[str, Any]:
    """Return the settings of an app with all features that have calls; write its models."""
    write_files(JSON, folder)
    container = {"name": "container", "base": "Model", "acls": ACLS}
    (folder / "models" / "container.json").write_text(json.dumps(container))
    names = ["category", "order", "orderItem", "product", "review", "shipment"]
    config = {**{name: {} for name in names}, "container": {"dataSource": "storage"}}
    (folder / "model-config.json").write_text(json.dumps(config))
    files = {"connector": "loopback-component-storage", "root": str(folder / "files")}
    return {
        "MODELS_FOLDER": str(folder / "models"),
        "DATA_SOURCES": {**REMOTE, "storage": files},
        "PUBLIC_URL": "http://localhost:3000",
        "TOKEN_MIDDLEWARE": {"currentUserLiteral": "me"},
        "SECOND_FACTOR": "optional",
        "FACTOR_KEYS": [FACTOR_KEY],
        "PASSKEYS": {},
        "EMAIL_LOGIN": True,
        "LOGIN_CODE_KEYS": [base64.b64encode(b"k" * 48).decode()],
        "EMAIL_VERIFICATION": "optional",
        "EMAIL_CHANGE": "confirmed",
        "PERSONAL_TOKENS": {},
        "IDEMPOTENCY_TTL": 3600,
        "PROVIDERS": {
            "github": {"clientID": "id", "clientSecret": "secret"},
            "test": {"issuer": "http://127.0.0.1:9", "clientID": "id", "clientSecret": "secret"},
        },
    }


def write_models(folder: Path, models: list[dict[str, Any]]) -> dict[str, Any]:
    """Write the files of models; return the settings of an app with them."""
    (folder / "models").mkdir(parents=True)
    for model in models:
        text = json.dumps({"acls": ACLS, **model})
        (folder / "models" / f"{model['name']}.json").write_text(text)
    return {"MODELS_FOLDER": str(folder / "models")}


@contextmanager
def served(folder: Path, url: str, **settings: Any) -> Iterator[Flask]:
    """Build an app that is not the test's own."""
    with running_a_command():
        app = build(url, folder / "mail", **settings)
    yield app
    close(app)


def documents(folder: Path) -> dict[str, Any]:
    """Return the documents of all applications."""
    made = {
        "shop": shop,
        "library": lambda place: {
            **write_models(place, [library.AUTHOR, library.BOOK, library.TOPIC]),
            **library.SETTINGS,
        },
        "food_bank": lambda place: write_models(place, FOOD_BANK),
        "odd": lambda place: write_models(place, ODD),
        "everything": everything,
    }
    return {name: document(folder / name, settings) for name, settings in made.items()}


def document(folder: Path, settings: Any) -> Any:
    """Return the document of an app with these settings, and files in a folder."""
    folder.mkdir(parents=True)
    with served(folder, f"sqlite:///{folder}/none.sqlite", **settings(folder)) as app:
        return app.test_client().get("/api/openapi.json").json
