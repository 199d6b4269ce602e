"""Compare lists of rows with and without computed properties: CPU time."""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from flask import Flask
from sqlalchemy import insert

from app.database.metadata import all_metadata, app_metadata
from app.database.session import db
from app.factory import create_app
from app.properties.properties import column_name
from app.times import now
from app.users.models import AccessToken, User, new_token, new_token_values

from . import stack
from .tables import Table, publish
from .worst.measuring import make_environ, respond
from .worst.request import get

ROWS, RELATED, ROUNDS = 300, 10, 20
COUNT: dict[str, Any] = {"count": "signUps", "where": {"cancelled": False}}
MANY = {"n": COUNT, "hours": {"sum": "signUps.hours"}, "last": {"max": "signUps.day"}}
PROPERTIES = {
    **dict.fromkeys(("title", "place", "description", "contact"), "string"),
    "capacity": "integer",
    "starts": "date",
    "ends": "date",
    "isPublic": "boolean",
}
# The computed properties of each model.
LISTS: dict[str, dict[str, dict[str, Any]]] = {
    "none": {},
    "a count": {"n": COUNT},
    "a sum": {"hours": {"sum": "signUps.hours"}},
    "a count of the caller's rows": {"n": {**COUNT, "visibleToCaller": True}},
    "a count, a sum and a maximum": MANY,
}
NAMES = {text: f"Shift{number}" for number, text in enumerate(LISTS)}
ALLOWED = [{"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}]
OWNED = [{"principalType": "ROLE", "principalId": "$owner", "permission": "ALLOW"}]
SIGN_UP: dict[str, Any] = {
    "name": "SignUp",
    "properties": {"cancelled": "boolean", "hours": "number", "day": "dateonly"},
    "relations": {
        "owner": {"type": "belongsTo", "model": "user"},
        **{name: {"type": "belongsTo", "model": name} for name in NAMES.values()},
    },
    "acls": OWNED,
}


def main() -> None:
    """Print what a list of rows costs by its computed properties."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same; not kept")
    options = parser.parse_args()
    how = (
        f"Rows with {len(PROPERTIES)} properties and {RELATED} related rows each, by the WSGI"
        f" application alone, without a server; CPU time is that of the quickest of {ROUNDS}"
        " requests. The aim is twice that without computed properties, for one of them"
    )
    publish("computed", how, _tables(), keep=not options.quick)


def _tables() -> Iterator[Table]:
    with (
        stack.temporary_folder() as folder,
        _serving(folder, stack.sqlite(folder, "computed")) as (app, token),
    ):
        table = Table(f"a list of {ROWS} rows, SQLite", ["ms", "times"])
        found = {text: _seconds(app, text, token) for text in LISTS}
        for text, seconds in found.items():
            ratio = seconds / found["none"]
            table.rows.append([text, round(seconds * 1000, 2), round(ratio, 2)])
        yield table


def _seconds(app: Flask, text: str, token: str) -> float:
    """Return the CPU time of a list with these computed properties."""
    request = get(text, f"/api/{NAMES[text]}s?filter[limit]={ROWS}")
    times = []
    for _ in range(ROUNDS):
        environ = make_environ(request, token)
        started = time.thread_time()
        status = respond(app, environ)
        times.append(time.thread_time() - started)
        if status != "200":
            raise RuntimeError(f"{request.path}: {status}")
    return min(times)


@contextmanager
def _serving(folder: Path, url: str) -> Iterator[tuple[Flask, str]]:
    """Yield an app with the models and their rows, and a user's token."""
    models = folder / "models"
    models.mkdir()
    (models / "sign-up.json").write_text(json.dumps(SIGN_UP))
    for text, name in NAMES.items():
        (models / f"{name}.json").write_text(json.dumps(_shift(name, LISTS[text])))
    with click.Context(click.Command("upgrade"), info_name="flask"):
        app = create_app(
            {
                "SQLALCHEMY_DATABASE_URI": url,
                "MODELS_FOLDER": str(models),
                "MAIL_FOLDER": str(folder / "mail"),
                "OUTBOX_IN_PROCESS": False,
            }
        )
    token = new_token()
    with app.app_context():
        own = [table for name, table in app_metadata.of(app).tables.items() if name != "users"]
        db.metadata.create_all(db.engine)
        all_metadata(app).create_all(db.engine, tables=own)
        _fill(app, token)
    yield app, token
    with app.app_context():
        db.engine.dispose()


def _shift(name: str, computed: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "properties": {
            **PROPERTIES,
            **{each: {"computed": declared} for each, declared in computed.items()},
        },
        "relations": {"signUps": {"type": "hasMany", "model": "SignUp", "foreignKey": f"{name}Id"}},
        "acls": ALLOWED,
    }


def _fill(app: Flask, token: str) -> None:
    """Store a user with this token, rows of each model, and rows that belong to these."""
    user = User(email="ada@example.com", password_hash="!", username="ada")
    db.session.add(user)
    db.session.flush()
    db.session.add(AccessToken(user_id=user.id, **new_token_values(token, 86_400)))
    tables = app_metadata.of(app).tables
    texts = dict.fromkeys(("title", "place", "description", "contact"), "Some words of a text")
    row = {**texts, "capacity": 20, "starts": now(), "ends": now(), "is_public": True}
    rows = [row] * ROWS
    for name in NAMES.values():
        db.session.execute(insert(tables[column_name(name)]), rows)
    keys = [column_name(f"{name}Id") for name in NAMES.values()]
    related = [
        {
            **dict.fromkeys(keys, number % ROWS + 1),
            "owner_id": user.id,
            "cancelled": number % 7 == 0,
            "hours": number % 5 + 0.5,
            "day": now().date(),
        }
        for number in range(ROWS * RELATED)
    ]
    db.session.execute(insert(tables["sign_up"]), related)
    db.session.commit()


if __name__ == "__main__":
    main()
