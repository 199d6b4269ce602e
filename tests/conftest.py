"""The app on both databases, a client that speaks as its users do, and a watch over secrets."""

import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient, FlaskCliRunner
from flask_migrate import upgrade
from sqlalchemy import Connection, Engine, create_engine, text
from werkzeug.test import TestResponse

from app.extensions import db
from app.factory import create_app
from app.users import service
from tests.postgres import postgres_server

PASSWORD = "correct horse battery"
# The cheapest that Argon2 allows; the production figures have a test of their own.
CHEAP_HASH = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
# Engines that outlive a test, by their database's URL.
SHARED: dict[str, Engine] = {}
TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """A migrated, empty SQLite database to copy."""
    folder = tmp_path_factory.mktemp("template")
    path = folder / "ostiary.sqlite"
    migrate(f"sqlite:///{path}", folder)
    # Back to one file, so that copying it copies everything.
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    """A migrated PostgreSQL database of this test process."""
    with postgres_server() as url:
        migrate(url, tmp_path_factory.mktemp("postgres"))
        # Asked whether it lives before each use: a test ends all connections.
        SHARED[url] = create_engine(url, pool_pre_ping=True)
        yield url
        SHARED.pop(url).dispose()


def migrate(url: str, folder) -> None:
    app = create_app({"SQLALCHEMY_DATABASE_URI": url, "MAIL_FOLDER": str(folder / "mail")})
    with app.app_context():
        upgrade()
        db.engine.dispose()


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Look at a database beside the app: by one connection for all of a session's PostgreSQL."""
    if url in SHARED:
        with SHARED[url].begin() as connection:
            yield connection
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def empty(url: str) -> None:
    """Delete every row, and number the next ones from 1; for few rows faster than TRUNCATE."""
    with connected(url) as connection:
        for table in reversed(db.metadata.sorted_tables):
            connection.execute(table.delete())
            if "id" in table.c:
                connection.execute(text(f"ALTER SEQUENCE {table.name}_id_seq RESTART"))


@pytest.fixture
def sqlite_url(sqlite_template, tmp_path):
    """An empty SQLite database."""
    path = tmp_path / "ostiary.sqlite"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request):
    """An empty database, once SQLite and once PostgreSQL."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_url")
    else:
        url = request.getfixturevalue("postgres_url")
        yield url
        empty(url)


@pytest.fixture
def make_app(database_url, tmp_path):
    """Build apps on the test's database, each with settings of its own."""
    apps = []

    def make(**settings: Any) -> Flask:
        apps.append(
            create_app(
                {
                    "SQLALCHEMY_DATABASE_URI": database_url,
                    "MAIL_FOLDER": str(tmp_path / "mail"),
                    "PASSWORD_HASH": CHEAP_HASH,
                    "TESTING": True,
                    **settings,
                }
            )
        )
        return apps[-1]

    yield make
    for app in apps:
        app.extensions["outbox"].close()
        with app.app_context():
            db.engine.dispose()


@pytest.fixture
def app(make_app) -> Flask:
    return make_app()


@pytest.fixture
def client(app) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def runner(app) -> FlaskCliRunner:
    return app.test_cli_runner()


@dataclass
class Api:
    """Calls the API as a user does, and notes every token it was given among the secrets."""

    client: FlaskClient
    secrets: list[str]

    def __call__(
        self, method: str, path: str, json: Any = None, token: str | None = None, **kwargs: Any
    ) -> TestResponse:
        headers = {**({"Authorization": token} if token else {}), **kwargs.pop("headers", {})}
        if json is not None:
            kwargs["json"] = json
        return self.client.open(f"/api{path}", method=method, headers=headers, **kwargs)

    def register(self, email: str = "ada@example.com", **fields: Any) -> dict[str, Any]:
        response = self("POST", "/users", {"email": email, "password": PASSWORD, **fields})
        assert response.status_code == 200, response.json
        return response.json

    def login(self, email: str = "ada@example.com", **fields: Any) -> dict[str, Any]:
        response = self("POST", "/users/login", {"email": email, "password": PASSWORD, **fields})
        assert response.status_code == 200, response.json
        self.secrets.append(response.json["id"])
        return response.json

    def newcomer(self, email: str = "ada@example.com", **fields: Any) -> str:
        """Register and log in; return the token."""
        self.register(email, **fields)
        return self.login(email)["id"]


@pytest.fixture
def api(client, secrets) -> Api:
    return Api(client, secrets)


@pytest.fixture
def token(api) -> str:
    """The token of a user who is logged in, the user with id 1."""
    return api.newcomer()


@pytest.fixture
def reset_token(app, api, token, reset_events) -> str:
    """A password reset token of the user with id 1."""
    api("POST", "/users/reset", {"email": "ada@example.com"})
    return reset_events[-1]["accessToken"].id


@pytest.fixture
def reset_events(app, secrets):
    """The payloads of the resetPasswordRequest events of this app."""
    events = []

    def record(sender, info):
        secrets.append(info["accessToken"].id)
        events.append(info)

    with service.reset_password_request.connected_to(record, sender=app):
        yield events


def dump(url: str) -> str:
    """Return every value of every table as text."""
    with connected(url) as connection:
        rows = [
            str(tuple(row))
            for table in db.metadata.sorted_tables
            for row in connection.execute(table.select())
        ]
    return "\n".join(rows)


@pytest.fixture
def secrets() -> list[str]:
    """Every secret that the test creates; nothing of it may be stored or logged in clear."""
    return [PASSWORD]


@pytest.fixture(autouse=True)
def no_secret_leaks(request, caplog, secrets):
    """After every test: no token and no password in clear, in the database or in a log line."""
    if "database_url" not in request.fixturenames:
        yield
        return
    url = request.getfixturevalue("database_url")
    caplog.set_level("DEBUG")
    yield
    lines = [logging.Formatter().format(record) for record in caplog.get_records("call")]
    logged, stored = "\n".join(lines), dump(url)
    assert not TOKEN.search(logged)
    for secret in secrets:
        assert secret not in logged
        assert secret not in stored
