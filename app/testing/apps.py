"""Test apps and databases of a process, shared between its tests and created from the project."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import click
from flask import Flask
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from app import outbox
from app.changes.hub import hubs
from app.config import read_project_files
from app.database.faults import error_reason
from app.database.session import db
from app.database.standbys.reader import standbys
from app.environment import ENVIRONMENT, FILE, placeholder
from app.factory import create_app
from app.problems import ConfigurationError
from app.projects.fixtures.rows import has_placeholders
from app.rest.collection import served_collections
from app.rest.rows.hooks import Hook
from app.signals import reset_password_request
from app.state import VALUES

from .databases import Database, PostgresDatabase, SqliteDatabase, create_postgres_database

# The cheapest password hash that Argon2 allows.
CHEAP_HASH = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
# Settings that replace the project's in tests.
TEST_SETTINGS: Mapping[str, object] = {
    "TESTING": True,
    "PASSWORD_HASH": CHEAP_HASH,
    "THROTTLE_ENABLED": False,
    # Mails are files, written when a test reads them.
    "MAIL_URL": None,
    "OUTBOX_IN_PROCESS": False,
    # The project's options are for its own database.
    "SQLALCHEMY_ENGINE_OPTIONS": {},
    "PGBOUNCER": False,
    "METRICS_ENABLED": False,
}
# The settings in which `{"$env": "NAME"}` stands for a variable.
WITH_VARIABLES = ("DATA_SOURCES", "PROVIDERS", "STORES")


def build_project(
    project: Path, url: str, mail_folder: Path, settings: Mapping[str, object]
) -> Flask:
    """Create the app of a project on a database, with TEST_SETTINGS and these settings.

    The environment is ignored, except for variables that the project's JSON files name; those that
    are not set have placeholders. Raises ConfigurationError.
    """
    given = {
        **read_project_files(str(project)),
        "SQLALCHEMY_DATABASE_URI": url,
        "MAIL_FOLDER": str(mail_folder),
        **TEST_SETTINGS,
        **settings,
    }
    given |= {name: _with_placeholders(given[name]) for name in WITH_VARIABLES if name in given}
    with _project_folder(project):
        app = create_app(given)
    has_placeholders.set(app, True)
    # pytest captures the log records; as text they would be mixed with the output of commands.
    app.logger.handlers.clear()
    return app


def _with_placeholders(value: object) -> object:
    """Return a value of a setting, with placeholders for variables that are not set."""
    if isinstance(value, list):
        return [_with_placeholders(item) for item in value]
    if not isinstance(value, dict):
        return value
    # Invalid names are reported when the setting is read.
    if value.keys() == {ENVIRONMENT} and isinstance(name := value[ENVIRONMENT], str):
        return value if {name, f"{name}{FILE}"} & os.environ.keys() else placeholder(name)
    return {key: _with_placeholders(item) for key, item in value.items()}


def migrate_project(project: Path, url: str, mail_folder: Path) -> str:
    """Run the migrations; return the error if they fail or differ from the models."""
    # Only commands may have an app whose tables are missing.
    with click.Context(click.Command("db"), info_name="db"):
        app = build_project(project, url, mail_folder, {})
    runner = app.test_cli_runner()
    try:
        if (result := runner.invoke(args=["db", "upgrade"])).exit_code:
            return f"The migrations of {project} fail.\n{result.output or result.exception!r}"
        if (result := runner.invoke(args=["db", "check"])).exit_code:
            return (
                "The migrations do not make the tables of the models; write the missing one:"
                f" ostiary db migrate -m TEXT\n{result.output or result.exception!r}"
            )
    finally:
        close(app)
    return ""


def close(app: Flask) -> None:
    """End the threads and database connections of an app."""
    outbox.stop(app)
    hubs.of(app).stop()
    if app.config["READ_DATABASE_URL"]:
        standbys.of(app).stop()
    with app.app_context():
        db.engine.dispose()


class SharedApp:
    """An app used by one test after the other, as creating one takes longer than most tests."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        built = _configuration(app)
        # Values of settings can be changed in place.
        self._built = {**built, "settings": deepcopy(built["settings"])}

    def reset(self) -> bool:
        """Reset the app after a test; return whether it is as it was created.

        State kept in memory between requests is reset: the outbox's thread with its reservations,
        and values created since, such as facts about the database. Pooled connections and the
        OpenAPI document may stay.
        """
        outbox.stop(self.app)
        hubs.of(self.app).stop()
        values = self.app.extensions[VALUES]
        for state in values.keys() - self._built["values"]:
            del values[state]
        return _configuration(self.app) == self._built


def _configuration(app: Flask) -> dict[str, Any]:
    """Return the state of an app that a test could change for the tests after it."""
    hooks: list[Mapping[Any, Sequence[object]]] = [
        app.before_request_funcs,
        app.after_request_funcs,
        app.teardown_request_funcs,
    ]
    return {
        "settings": dict(app.config),
        "extensions": set(app.extensions),
        "values": set(app.extensions[VALUES]),
        "views": dict(app.view_functions),
        "hooks": [{name: list(functions) for name, functions in hook.items()} for hook in hooks],
        "receivers": list(reset_password_request.receivers_for(app)),
        "rows": {
            (name, attribute): list(hook.receivers)
            for name, collection in served_collections.of(app).items()
            for attribute, hook in vars(collection.resource).items()
            if isinstance(hook, Hook)
        },
    }


@contextmanager
def _project_folder(folder: Path) -> Iterator[None]:
    """Use a project for an app that is created in the block."""
    before = os.environ.get("INSTANCE_PATH")
    os.environ["INSTANCE_PATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["INSTANCE_PATH"]
        else:
            os.environ["INSTANCE_PATH"] = before


class ProcessState:
    """The databases and apps of a process that tests a project."""

    def __init__(self, project: Path, folder: Path, postgres_server: str, worker: str) -> None:
        """Test a project; `worker` is the name of this process among several.

        `folder` is for files, and `postgres_server` the URL of a server, or empty.
        """
        if not (project / "config.py").is_file():
            raise ConfigurationError(
                f"there is no project in {project}, which has no config.py; the fixture"
                " `project` returns its folder"
            )
        self._project = project
        self._folder = folder
        self._server = postgres_server
        self._worker = worker
        self._databases: dict[str, Database] = {}
        self._problems: dict[str, str] = {}
        self._apps: dict[str, SharedApp] = {}

    @contextmanager
    def database(self, name: str) -> Iterator[Database]:
        """Yield the migrated database of this kind; restore it afterwards.

        Raises ConfigurationError, also if the migrations fail or differ from the models.
        """
        if name in self._problems:
            raise ConfigurationError(self._problems[name])
        if name not in self._databases:
            self._databases[name] = self._migrated(name)
        yield self._databases[name]
        self._databases[name].reset()

    @contextmanager
    def app(self, database: Database, settings: Mapping[str, object]) -> Iterator[Flask]:
        """Yield the app with these settings, which the next test reuses unless it was changed."""
        key = json.dumps([database.url, settings], sort_keys=True, default=repr)
        if key not in self._apps:
            mails = self._folder / f"mail{len(self._apps)}"
            app = build_project(self._project, database.url, mails, settings)
            self._apps[key] = SharedApp(app)
        shared = self._apps[key]
        yield shared.app
        if not shared.reset():
            close(self._apps.pop(key).app)

    def close(self) -> None:
        """End the threads and connections of all apps and databases."""
        for shared in self._apps.values():
            close(shared.app)
        for database in self._databases.values():
            database.close()

    def _migrated(self, name: str) -> Database:
        database = self._create(name)
        problem = migrate_project(self._project, database.url, self._folder / "mail")
        if problem:
            database.close()
            self._problems[name] = problem
            raise ConfigurationError(problem)
        database.keep()
        return database

    def _create(self, name: str) -> Database:
        if name == "sqlite":
            return SqliteDatabase(self._folder / "ostiary.sqlite")
        if name == "postgresql":
            return PostgresDatabase(self._create_on_server())
        raise ConfigurationError(f"ostiary_databases: {name!r} is neither sqlite nor postgresql")

    def _create_on_server(self) -> str:
        if not self._server.startswith("postgres"):
            raise ConfigurationError(
                "tests on PostgreSQL need TEST_DATABASE_URL, the URL of a server on which this"
                " user may create databases"
            )
        url = make_url(self._server).set(drivername="postgresql+psycopg")
        server = url.render_as_string(hide_password=False)
        # Other processes, and other projects, may use the same server.
        name = re.sub(r"\W", "_", f"ostiary_test_{self._project.name[:30]}_{self._worker}")
        try:
            return create_postgres_database(server, name.lower())
        except SQLAlchemyError as error:
            raise ConfigurationError(
                f"TEST_DATABASE_URL cannot be used: {error_reason(error)}"
            ) from None
