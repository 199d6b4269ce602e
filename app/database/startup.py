"""Connecting an app to its database, with checks at start."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module

import click
from flask import Flask
from sqlalchemy import Connection, Table, inspect
from sqlalchemy.exc import SQLAlchemyError

from app.problems import ConfigurationError

from . import session
from .dialects import begin
from .faults import UNOPENED_FILE, error_reason, is_refused_options
from .ids import stored_id_type
from .metadata import app_metadata, derived_objects, project_tables
from .session import db


def init_app(app: Flask) -> None:
    """Connect the app; raise ConfigurationError unless the database is writable and matches."""
    try:
        session.init_app(app)
        with _closing_connections(app), app.app_context(), db.engine.connect() as connection:
            begin(connection)
            stored = stored_id_type(connection)
            _warn_of_no_time_out(app, connection)
            connection.rollback()
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise ConfigurationError(
            f"the database cannot be used: {error_reason(error)}{_hint(app, error)}"
        ) from None
    if app.config["READ_DATABASE_URL"]:
        # Imported only if there are standbys.
        import_module("app.database.standbys.reader").init_app(app)
    if stored not in (None, app.config["ID_TYPE"]):
        raise ConfigurationError(
            f"ID_TYPE is {app.config['ID_TYPE']}, and the database was created with {stored}:"
            f" set ID_TYPE to {stored}, or use another database"
        )


@contextmanager
def _closing_connections(app: Flask) -> Iterator[None]:
    """Close all connections at the end: forked processes must not share one."""
    try:
        yield
    finally:
        with app.app_context():
            db.engine.dispose()


def _hint(app: Flask, error: Exception) -> str:
    """Return advice about an error, or the file that it is about, if there is any."""
    if UNOPENED_FILE in error_reason(error):
        with app.app_context():
            return f": {db.engine.url.database}"
    if isinstance(error, ModuleNotFoundError) and error.name == "psycopg":
        return "; PostgreSQL needs the extra: `pip install 'ostiary[postgres]'`"
    return "; for PgBouncer set PGBOUNCER" if is_refused_options(error) else ""


def _warn_of_no_time_out(app: Flask, connection: Connection) -> None:
    """Warn if PostgreSQL does not limit the statements of a new connection."""
    if connection.dialect.name != "postgresql":
        return
    if connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0":
        app.logger.warning(
            "statements have no time-out: behind PgBouncer set PGBOUNCER, and statement_timeout"
            " for the role"
        )


def check_own_tables(app: Flask) -> None:
    """Call `require_own_tables`, unless a command other than `run` and `dev` runs.

    Such a command may be the one that creates the tables.
    """
    command = click.get_current_context(silent=True)
    if command is None or command.info_name in {"dev", "run"}:
        with _closing_connections(app):
            require_own_tables(app)


def require_own_tables(app: Flask) -> None:
    """Raise ConfigurationError if the database lacks tables or columns of the project.

    Also if it lacks objects that follow from the models.
    """
    own = {**project_tables(), **app_metadata.of(app).tables}
    if own and (missing := sorted(_missing(app, own))):
        raise ConfigurationError(
            f"the database has no {', '.join(missing)}: run `ostiary db migrate` and"
            " `ostiary db upgrade`"
        )
    with app.app_context(), db.engine.connect() as connection:
        if lacking := derived_objects.current.missing(connection):
            raise ConfigurationError(
                f"the database has no {', '.join(lacking)}: run `ostiary db upgrade`"
            )


def _missing(app: Flask, own: Mapping[str, Table]) -> Iterator[str]:
    """Yield tables, and columns as `table.column`, that the database lacks."""
    with app.app_context(), db.engine.connect() as connection:
        found = inspect(connection).get_multi_columns(filter_names=list(own))
    stored = {name: {column["name"] for column in columns} for (_, name), columns in found.items()}
    for name, table in own.items():
        if name not in stored:
            yield name
        else:
            lacking = {column.name for column in table.columns} - stored[name]
            yield from (f"{name}.{column}" for column in lacking)
