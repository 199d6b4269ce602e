"""Fixtures: the app, an API client, and a check that no secret is logged."""

import fcntl
import gc
import json
import logging
import os
import re
import shutil
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask, request_finished
from flask.testing import FlaskClient, FlaskCliRunner
from werkzeug.test import TestResponse

from app.signals import reset_password_request
from app.testing.apps import CHEAP_HASH, SharedApp, close
from app.times import now
from tests.explorer.browser import chromium
from tests.support.apps import build
from tests.support.databases import Database, make_template, migrate
from tests.support.guard import guard
from tests.support.postgres import postgres_server
from tests.support.postgres_proxy import counted
from tests.support.releases import (
    build_wheel,
    copy_sources,
    download_environment,
    make_environment,
)
from tests.support.rows import store_login
from tests.support.statements import RECORDING, read_sent
from tests.support.statuses import UndeclaredStatuses

PASSWORD = "correct horse battery"
# What it is changed to.
NEW = "a new and longer one"
TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")
# New objects that may be garbage after a test: those of a few apps.
MOST_GARBAGE = 100_000
# Tests of these take many seconds each.
LONG = {
    "test_model_example.py",
    "test_walk.py",
    "test_guide.py",
    "test_move.py",
    "test_kills.py",
    "test_browser.py",
    "test_in_chromium.py",
    "test_drills.py",
    "test_bounded_work.py",
    "test_clients.py",
    "test_clients_compile.py",
    "test_clients_run.py",
    "test_conformance.py",
    "test_recovery.py",
    "test_deployment.py",
    "test_two_hosts.py",
}


def pytest_xdist_auto_num_workers(config):
    """Use a process more than there are processors, two for tests that wait for others."""
    return os.cpu_count() + (2 if config.option.markexpr == "live" else 1)


def pytest_configure(config):
    # A shell lets what it runs in the background ignore Ctrl-C, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(guard)


def pytest_addoption(parser):
    parser.addoption(
        "--database",
        choices=["sqlite", "postgresql"],
        help="run all tests that use a database on this one, and no others",
    )


def pytest_generate_tests(metafunc):
    """Run tests on SQLite, unless they are marked, or the option says otherwise."""
    if "database_name" not in metafunc.fixturenames:
        return
    find = metafunc.definition.get_closest_marker
    is_both, only = find("both_databases"), find("only_on")
    names = ["sqlite", "postgresql"] if is_both else ["sqlite"]
    if chosen := metafunc.config.getoption("database"):
        names = [chosen]
    if only:
        names = list(only.args)
    metafunc.parametrize("database_name", names, scope="session")


def pytest_collection_modifyitems(config, items):
    """Begin with the longest tests, so that no process is alone with one at the end."""
    items.sort(key=lambda item: item.path.name not in LONG)
    if chosen := config.getoption("database"):
        others = [item for item in items if database_of(item) != chosen]
        items[:] = [item for item in items if database_of(item) == chosen]
        config.hook.pytest_deselected(items=others)


def database_of(item):
    """Return the name of the database that a test runs on, if it runs on one or the other."""
    return item.callspec.params.get("database_name") if hasattr(item, "callspec") else None


def pytest_collection_finish():
    # Modules and tests stay to the end.
    gc.collect()
    gc.freeze()
    # An app is ten thousand objects that stay for the test: by default each starts several runs of
    # the garbage collector. In requests that nest as deeply as Python can, a run fails.
    gc.set_threshold(1_000_000, 10, 100)


def pytest_runtest_logfinish():
    """Collect garbage between tests; the oldest objects are shared by tests and stay."""
    if gc.get_count()[0] > MOST_GARBAGE:
        gc.collect(1)


def pytest_unconfigure():
    """Leave what is there to the end of the process; pytest would look for garbage five times."""
    gc.freeze()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """A migrated, empty SQLite database to copy."""
    return make_template(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def databases():
    """The migrated databases of this test process, by their URL."""
    databases: dict[str, Database] = {}
    yield databases
    for database in databases.values():
        database.close()


@pytest.fixture(scope="session")
def sqlite_database(databases, sqlite_template, tmp_path_factory):
    path = tmp_path_factory.mktemp("sqlite") / "ostiary.sqlite"
    shutil.copy(sqlite_template, path)
    url = f"sqlite:///{path}"
    return databases.setdefault(url, Database(url))


@pytest.fixture(scope="session")
def postgres_database(databases, tmp_path_factory):
    with postgres_server(**RECORDING) as url:
        migrate(url, tmp_path_factory.mktemp("postgres"))
        yield databases.setdefault(url, Database(url))
        if sent := read_sent(url):
            unlisted = sent.unlisted()
            assert not unlisted, f"words of which tools/distributed.py does not tell:\n{unlisted}"


@pytest.fixture
def sqlite_url(sqlite_database):
    """An empty SQLite database."""
    yield sqlite_database.url
    sqlite_database.empty()


@pytest.fixture
def postgres_url(postgres_database):
    """An empty PostgreSQL database."""
    yield postgres_database.url
    postgres_database.empty()


@pytest.fixture
def traffic(postgres_url):
    """The messages between PostgreSQL and those who use the proxy at `traffic.url`, counted."""
    with counted(postgres_url) as traffic:
        yield traffic


@pytest.fixture(scope="session")
def database_name(pytestconfig):
    """The database of a test that asks for one while it runs."""
    return pytestconfig.getoption("database") or "sqlite"


@pytest.fixture
def database_url(request, database_name):
    """An empty database, by default SQLite; PostgreSQL too for tests of `both_databases`."""
    return request.getfixturevalue("sqlite_url" if database_name == "sqlite" else "postgres_url")


@pytest.fixture
def make_app(database_url, tmp_path):
    """Build apps on the test's database that are the test's own, each with its own settings."""
    apps = []

    def make(**settings: Any) -> Flask:
        apps.append(build(database_url, tmp_path / "mail", **settings))
        return apps[-1]

    yield make
    for app in apps:
        close(app)


@pytest.fixture(scope="session")
def shared_apps():
    """The apps that tests share, by database and settings."""
    apps: dict[str, SharedApp] = {}
    yield apps
    for app in apps.values():
        close(app.app)


@pytest.fixture
def shared_app(database_url, shared_apps, tmp_path_factory):
    """Get the app with these settings on the test's database; make_app has one to change."""
    used = []

    def get(**settings: Any) -> Flask:
        key = json.dumps([database_url, settings], sort_keys=True)
        if key not in shared_apps:
            mail_folder = tmp_path_factory.mktemp("mail")
            shared_apps[key] = SharedApp(build(database_url, mail_folder, **settings))
        used.append(shared_apps[key])
        return used[-1].app

    yield get
    for state in used:
        assert state.reset(), "a test that changes an app needs make_app"


@pytest.fixture
def app(shared_app) -> Flask:
    """The app with the default settings."""
    return shared_app()


@pytest.fixture
def client(app) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def runner(app) -> FlaskCliRunner:
    return app.test_cli_runner()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of this code, built once for all test processes, or that which WHEEL names."""
    if released := os.environ.get("WHEEL"):
        return Path(released).resolve()
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for wheel in (folder / "release" / "dist").glob("*.whl"):
            return wheel
        return build_wheel(copy_sources(folder / "release"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """An environment outside of the checkout in which the wheel is installed.

    With WHEEL, what it depends on is downloaded, as on a user's machine.
    """
    make = download_environment if "WHEEL" in os.environ else make_environment
    return make(tmp_path_factory.mktemp("installed") / "venv", wheel)


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

    def logged_in(self, email: str = "ada@example.com", verified: bool = True) -> str:
        """Store a user, by default with a verified address, and a token of theirs; return it.

        It takes a fifth of the time of `newcomer`, which leaves records of what happened as well.
        """
        app = self.client.application
        self.secrets.append(store_login(app, email, hash_of_password(), verified))
        return self.secrets[-1]

    def newcomer(self, email: str = "ada@example.com", **fields: Any) -> str:
        """Register and log in; return the token."""
        self.register(email, **fields)
        return self.login(email)["id"]


def login_status(api: Api, password: str) -> int:
    """Try to log in; note the token, if there is one, among the secrets."""
    response = api("POST", "/users/login", {"email": "ada@example.com", "password": password})
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response.status_code


@pytest.fixture
def api(client, secrets) -> Api:
    return Api(client, secrets)


@cache
def hash_of_password() -> str:
    """Return the hash of PASSWORD, as the apps under test make it."""
    return PasswordHasher(**CHEAP_HASH).hash(PASSWORD)


@pytest.fixture(scope="session")
def password_hash() -> str:
    return hash_of_password()


@pytest.fixture
def token(api) -> str:
    """The token of a user who is logged in, the user with id 1."""
    return api.logged_in()


@pytest.fixture(autouse=True)
def declared_statuses():
    """Check that the document declares the status of each answer."""
    undeclared = UndeclaredStatuses()
    with request_finished.connected_to(undeclared.check):
        yield
    assert undeclared.found == set()


@pytest.fixture
def stopped_clock(monkeypatch):
    """Let throttles count as if the test took no time, so that Retry-After is exact."""
    moment = now()
    monkeypatch.setattr("app.throttles.now", lambda: moment)


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

    with reset_password_request.connected_to(record, sender=app):
        yield events


@pytest.fixture(scope="session")
def chrome():
    """Chromium, started once for a process."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def browser(chrome):
    """Chromium, unless a folder has browsers of its own."""
    return chrome


@pytest.fixture
def secrets() -> list[str]:
    """Every secret that the test creates; nothing of it may be stored or logged in clear."""
    return [PASSWORD]


@pytest.fixture(autouse=True)
def no_secret_leaks(request, caplog, databases, secrets):
    """After every test: no token and no password in clear, in the database or in a log line."""
    if "database_url" not in request.fixturenames:
        yield
        return
    database = databases[request.getfixturevalue("database_url")]
    with caplog.at_level("DEBUG"):
        yield
    lines = [logging.Formatter().format(record) for record in caplog.get_records("call")]
    logged, stored = "\n".join(lines), database.dump()
    assert not TOKEN.search(logged)
    for secret in secrets:
        assert secret not in logged
        assert secret not in stored
