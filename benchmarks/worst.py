"""Search for the request of at most 100 kB that costs most: the CPU time of each candidate."""

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from flask import Flask

from app.extensions import all_metadata, app_metadata, db
from app.factory import create_app
from app.users.models import new_token

from . import stack
from .worst_requests import MODELS, ROWS, USER_PROPERTIES, Request, fill, requests

# Milliseconds that a request may cost besides hashing, and the times that each is sent.
AIM, ROUNDS = 100, 3


def main() -> None:
    """Print the cost of each request, the highest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only the requests whose name has this in it")
    parser.add_argument("--top", type=int, default=30, help="how many of them are printed")
    options = parser.parse_args()
    chosen = [each for each in requests() if options.only in each.name]
    with (
        stack.temporary_folder() as folder,
        serving(folder, stack.sqlite(folder, "worst"), ROWS) as (app, token),
    ):
        found = [(measure(app, each, token), each) for each in chosen]
    print(stack.machine())
    print(f"{'ms':>8}{'bytes':>9}{'status':>8}  request")
    for (milliseconds, status), each in sorted(found, key=lambda one: -one[0][0])[: options.top]:
        size = len(each.path) + len(each.body) + sum(map(len, each.headers.values()))
        print(f"{milliseconds:>8.1f}{size:>9}{status:>8}  {each.name}")
    print(f"{sum(cost > AIM for (cost, _), _ in found)} of {len(found)} above {AIM} ms")


@contextmanager
def serving(folder: Path, url: str, rows: int) -> Iterator[tuple[Flask, str]]:
    """Yield an app with rows in a migrated SQLite database, and the token of their owner."""
    models = folder / "models"
    models.mkdir()
    for name, model in MODELS.items():
        (models / f"{name}.json").write_text(json.dumps(model))
    # As `flask db upgrade`, which starts without the tables of the models.
    with click.Context(click.Command("upgrade"), info_name="flask"):
        app = create_app(
            {
                "SQLALCHEMY_DATABASE_URI": url,
                "MAIL_FOLDER": str(folder / "mail"),
                "MODELS_FOLDER": str(models),
                "USER_PROPERTIES": USER_PROPERTIES,
                "THROTTLE_ENABLED": False,
                # What is measured is everything else.
                "PASSWORD_HASH": {"time_cost": 1, "memory_cost": 8, "parallelism": 1},
                "OUTBOX_IN_PROCESS": False,
            }
        )
    with app.app_context():
        own = [each for name, each in app_metadata(app).tables.items() if name != "users"]
        db.metadata.create_all(db.engine)
        all_metadata(app).create_all(db.engine, tables=own)
        for name in USER_PROPERTIES:
            db.session.connection().exec_driver_sql(f"ALTER TABLE users ADD COLUMN {name}")
    token = new_token()
    fill(app, token, rows)
    yield app, token
    with app.app_context():
        db.engine.dispose()


def measure(app: Flask, request: Request, token: str) -> tuple[float, str]:
    """Return the milliseconds of CPU that the quickest of some rounds took, and the status.

    Those of the thread that answers, SQLite's with them; passwords are hashed by another one.
    """
    times = []
    for number in range(ROUNDS):
        body = request.body.replace(b"{round}", b"%d" % number)
        environ = make_environ(replace(request, body=body), token)
        with app.app_context():
            # Clients can send a filter of another structure each time.
            db.engine.clear_compiled_cache()
        started = time.thread_time()
        status = respond(app, environ)
        times.append(time.thread_time() - started)
    return min(times) * 1000, status


def make_environ(request: Request, token: str) -> dict[str, Any]:
    """Return the request as a WSGI server hands it over."""
    path, _, query = request.path.partition("?")
    environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path.encode().decode("latin-1"),
        "RAW_URI": request.path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "3000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": io.StringIO(),
        "CONTENT_LENGTH": str(len(request.body)),
    }
    for name, value in request.headers.items():
        key = name.strip("*").upper().replace("-", "_")
        key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
        text = value.replace("{token}", token)
        environ[key] = f"{environ[key]}; {text}" if name.endswith("*") else text
    return environ


def respond(app: Callable[..., Any], environ: dict[str, Any]) -> str:
    """Let the app answer, to the last byte; return the status."""
    statuses: list[str] = []
    body = app(environ, lambda status, _headers, _error=None: statuses.append(status))
    b"".join(body)
    if hasattr(body, "close"):
        body.close()
    return statuses[-1][:3]


if __name__ == "__main__":
    main()
