"""The service that the requests are sent to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from flask import Flask

from app.database.metadata import all_metadata, app_metadata
from app.database.session import db
from app.factory import create_app
from app.users.models import new_token

from . import files, logins, remote
from .models import MODELS, USER_PROPERTIES, fill


@contextmanager
def serving(folder: Path, url: str, rows: int) -> Iterator[tuple[Flask, str]]:
    """Yield an app with rows in a migrated SQLite database, and the token of their owner."""
    _write_models(folder / "models")
    # As `flask db upgrade`, which starts without the tables of the models.
    with remote.serving() as remote_url:
        with click.Context(click.Command("upgrade"), info_name="flask"):
            app = create_app(
                {
                    "SQLALCHEMY_DATABASE_URI": url,
                    "MAIL_FOLDER": str(folder / "mail"),
                    "MODELS_FOLDER": str(folder / "models"),
                    "DATA_SOURCES": {
                        **remote.data_sources(remote_url),
                        "storage": files.data_source(folder),
                    },
                    "PROVIDERS": logins.providers(remote_url),
                    "TOKEN_MIDDLEWARE": {},
                    "CORS_ORIGINS": [f"https://app{number}.example.com" for number in range(50)],
                    "USER_PROPERTIES": USER_PROPERTIES,
                    "THROTTLE_ENABLED": False,
                    # What is measured is everything else.
                    "PASSWORD_HASH": {"time_cost": 1, "memory_cost": 8, "parallelism": 1},
                    "OUTBOX_IN_PROCESS": False,
                }
            )
        with app.app_context():
            own = [each for name, each in app_metadata.of(app).tables.items() if name != "users"]
            db.metadata.create_all(db.engine)
            all_metadata(app).create_all(db.engine, tables=own)
            for name in USER_PROPERTIES:
                db.session.connection().exec_driver_sql(f"ALTER TABLE users ADD COLUMN {name}")
        token = new_token()
        fill(app, token, rows)
        yield app, token
        with app.app_context():
            db.engine.dispose()


def _write_models(folder: Path) -> None:
    folder.mkdir()
    config = {}
    for name, model in {**MODELS, **remote.MODELS}.items():
        (folder / f"{name}.json").write_text(json.dumps(model))
        config[model["name"]] = {"dataSource": "desk" if name in remote.MODELS else "db"}
    (folder / "container.json").write_text(json.dumps(files.CONTAINER))
    config["container"] = {"dataSource": "storage"}
    (folder.parent / "model-config.json").write_text(json.dumps(config))
