"""The databases of a test process: migrated once, and emptied after every test."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, NullPool, Table, create_engine, insert, select
from sqlalchemy.schema import sort_tables

from app.database.metadata import project_tables
from app.database.session import db
from app.factory import create_app
from app.migrate.running import upgrade


def migrate(url: str, folder: Path, **settings: Any) -> None:
    """Create the tables by an app that has no threads and is not used again."""
    mail = {"MAIL_FOLDER": str(folder / "mail")}
    app = create_app({"SQLALCHEMY_DATABASE_URI": url, **mail, **settings})
    with app.app_context():
        upgrade()
        db.engine.dispose()


def make_template(folder: Path) -> Path:
    """Migrate a SQLite database, and turn it back into one file, so that it can be copied."""
    path = folder / "ostiary.sqlite"
    migrate(f"sqlite:///{path}", folder)
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    engine.dispose()
    return path


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Work on a database beside the app, by a connection of our own."""
    with create_engine(url, poolclass=NullPool).begin() as connection:
        yield connection


@contextmanager
def autocommit(url: str) -> Iterator[Connection]:
    """Work on a server outside of transactions, as databases are created."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


# The rows of each table, in an order in which they can be stored.
Rows = Iterable[tuple[Table, list[dict[str, Any]]]]


class Database:
    """A migrated database, and a connection of our own beside those of the apps.

    Every test uses it twice, so that it sends one statement, or one script, for all tables.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        # Asked whether it lives before each use: a test ends all connections.
        self._engine = create_engine(url, pool_pre_ping=True)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        # Without those of the project of the test before.
        others = project_tables()
        self._tables = tables = sort_tables(
            [table for name, table in sorted(db.metadata.tables.items()) if name not in others]
        )
        self._dump = " UNION ALL ".join(
            f"SELECT {self._text(table)} FROM {table}" for table in tables
        )
        self._delete = "; ".join(f"DELETE FROM {table}" for table in reversed(tables))

    def dump(self) -> str:
        """Return every value of every table as text."""
        with self._engine.begin() as connection:
            return "\n".join(connection.exec_driver_sql(self._dump).scalars())

    def empty(self) -> None:
        """Delete every row, and number the next ones from 1; for few rows faster than TRUNCATE."""
        with self._engine.begin() as connection:
            self._run(connection, f"{self._delete}; {self._restart()}")

    def rows(self) -> Rows:
        """Return all rows, for `restore`."""
        with self._engine.begin() as connection:
            found = [(table, connection.execute(select(table))) for table in self._tables]
            return [(table, [row._asdict() for row in rows]) for table, rows in found]

    def restore(self, rows: Rows) -> None:
        """Store rows in the place of all that are there, which is faster than to make them anew."""
        with self._engine.begin() as connection:
            self._run(connection, self._delete)
            for table, values in rows:
                if values:
                    connection.execute(insert(table), values)

    def close(self) -> None:
        self._engine.dispose()

    def _run(self, connection: Connection, script: str) -> None:
        driver = connection.connection.driver_connection
        if self._is_sqlite:
            # Not to lose it in a power failure would take longer than all else.
            driver.executescript(f"PRAGMA synchronous=OFF; BEGIN; {script}; COMMIT")
        else:
            driver.execute(script)

    def _text(self, table: Table) -> str:
        """Return the SQL for a row as text."""
        if not self._is_sqlite:
            return f"{table}::text"
        columns = [column.name for column in table.columns]
        return f"printf('{'%s ' * len(columns)}', {', '.join(columns)})"

    def _restart(self) -> str:
        if self._is_sqlite:
            return "DELETE FROM sqlite_sequence"
        return "SELECT setval(seqrelid, seqstart, false) FROM pg_sequence"
