"""Databases of tests: migrated once, and put back to that state after each test."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, create_engine, make_url, text

# The schema with copies of the PostgreSQL tables in which migrations have put rows.
COPIES = "ostiary_migrated"
# The tables of a PostgreSQL database.
TABLES = text(
    "SELECT quote_ident(relname) FROM pg_class"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    " AND NOT relispartition ORDER BY relname"
)
# The statement that gives its sequences the values that they have now.
SEQUENCES = text(
    "SELECT 'SELECT ' || string_agg(format('setval(%L, %s, %L)',"
    " quote_ident(schemaname) || '.' || quote_ident(sequencename),"
    " coalesce(last_value, start_value), last_value IS NOT NULL), ', ')"
    " FROM pg_sequences WHERE schemaname = current_schema()"
)


class Database(Protocol):
    """A database that tests use one after the other."""

    url: str

    def keep(self) -> None:
        """Make the present content the one that each test finds."""

    def reset(self) -> None:
        """Undo what a test has changed in rows and sequences."""

    def close(self) -> None:
        """Close the connections."""


class SqliteDatabase:
    """A SQLite file, replaced in place by its copy in memory: apps keep their connections."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._path = path
        self._copy = sqlite3.connect(":memory:", check_same_thread=False)

    def keep(self) -> None:
        """Make the present content the one that each test finds."""
        with closing(sqlite3.connect(self._path)) as file:
            file.backup(self._copy)

    def reset(self) -> None:
        """Undo what a test has changed."""
        with closing(sqlite3.connect(self._path)) as file:
            # Not to lose it in a power failure would take longer than all else.
            file.execute("PRAGMA synchronous=OFF")
            self._copy.backup(file)

    def close(self) -> None:
        """Forget the copy."""
        self._copy.close()


class PostgresDatabase:
    """A PostgreSQL database, emptied and filled again by one script of few statements.

    A statement for all tables needs no order of them: foreign keys are checked at its end. To
    delete few rows is faster than TRUNCATE, and than a database from a template.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        # Asked whether it lives before each use: a test may have ended all connections.
        self._engine = create_engine(url, pool_pre_ping=True, isolation_level="AUTOCOMMIT")
        self._script = ""

    def keep(self) -> None:
        """Make the present rows the ones that each test finds."""
        with self._engine.connect() as connection:
            tables = list(connection.scalars(TABLES))
            filled = [name for name in tables if _has_rows(connection, name)]
            connection.exec_driver_sql(f"DROP SCHEMA IF EXISTS {COPIES} CASCADE")
            connection.exec_driver_sql(f"CREATE SCHEMA {COPIES}")
            for name in filled:
                connection.exec_driver_sql(f"CREATE TABLE {COPIES}.{name} AS TABLE {name}")
            sequences = connection.scalar(SEQUENCES)
        deletions = [f"DELETE FROM {name}" for name in tables]  # noqa: S608 names of the catalog
        copies = [
            f"INSERT INTO {name} OVERRIDING SYSTEM VALUE TABLE {COPIES}.{name}" for name in filled
        ]
        statements = [_at_once(deletions), _at_once(copies), sequences]
        self._script = "; ".join(statement for statement in statements if statement)

    def reset(self) -> None:
        """Undo what a test has changed in rows and sequences."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(self._script)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def create_postgres_database(server: str, name: str) -> str:
    """Make an empty database on the server of this URL; return the database's URL."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'))
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def _has_rows(connection: Connection, table: str) -> bool:
    return connection.exec_driver_sql(f"SELECT FROM {table} LIMIT 1").first() is not None


def _at_once(changes: list[str]) -> str:
    """Return one statement that makes all changes."""
    if not changes:
        return ""
    steps = ", ".join(f"step{number} AS ({change})" for number, change in enumerate(changes))
    return f"WITH {steps} SELECT"
