"""State shared by the tests of a process: migrated databases, and apps by their settings."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from app.config import ConfigurationError
from app.database.faults import error_reason

from .apps import SharedApp, build_project, close, migrate_project
from .databases import Database, PostgresDatabase, SqliteDatabase, create_postgres_database


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
    def app(self, database: Database, settings: Mapping[str, Any]) -> Iterator[Flask]:
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
