"""Test databases: migrated once, and restored to that state after each test."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, create_engine, make_url, text

# The schema with copies of PostgreSQL tables that are not empty after the migrations.
COPIES = "ostiary_migrated"
# The tables of a PostgreSQL database.
TABLES = text(
    "SELECT quote_ident(relname) FROM pg_class"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    " AND NOT relispartition ORDER BY relname"
)
# The statement that resets sequences to their current values.
SEQUENCES = text(
    "SELECT 'SELECT ' || string_agg(format('setval(%L, %s, %L)',"
    " quote_ident(schemaname) || '.' || quote_ident(sequencename),"
    " coalesce(last_value, start_value), last_value IS NOT NULL), ', ')"
    " FROM pg_sequences WHERE schemaname = current_schema()"
)


class Database(Protocol):
    """A database used by one test after the other."""

    url: str

    def keep(self) -> None:
        """Store the current content as the initial state of each test."""

    def reset(self) -> None:
        """Undo a test's changes of rows and sequences."""

    def close(self) -> None:
        """Close the connections."""


class SqliteDatabase:
    """A SQLite file, restored in place from memory, so that apps keep their connections."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._path = path
        self._copy = sqlite3.connect(":memory:", check_same_thread=False)

    def keep(self) -> None:
        """Store the current content as the initial state of each test."""
        with closing(sqlite3.connect(self._path)) as file:
            file.backup(self._copy)

    def reset(self) -> None:
        """Undo a test's changes."""
        with closing(sqlite3.connect(self._path)) as file:
            # Syncing to disk would take longer than everything else.
            file.execute("PRAGMA synchronous=OFF")
            self._copy.backup(file)

    def close(self) -> None:
        """Drop the copy."""
        self._copy.close()


class PostgresDatabase:
    """A PostgreSQL database, restored by one script of few statements.

    One statement for all tables needs no order, because foreign keys are checked at its end.
    Deleting few rows is faster than TRUNCATE, and than creating a database from a template.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        # Checked before each use: a test may have ended all connections.
        self._engine = create_engine(url, pool_pre_ping=True, isolation_level="AUTOCOMMIT")
        self._script = ""

    def keep(self) -> None:
        """Store the current rows as the initial state of each test."""
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
        """Undo a test's changes of rows and sequences."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(self._script)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def create_postgres_database(server: str, name: str) -> str:
    """Create an empty database on the server of this URL; return the database's URL."""
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
