"""Keep AUTOINCREMENT on SQLite when migrations copy tables, so that no id is generated twice.

SQLite makes most changes of a table by a copy that replaces it. The copy lacks AUTOINCREMENT,
unless the migration declares it, and the ids of deleted rows are forgotten. PostgreSQL changes
tables in place.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from logging import Logger

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Integer, MetaData, inspect, text

# Columns that contain ids of deleted rows, by table: the audit log outlives the users.
REFERENCES = {"users": ("user_id", "actor_id")}


@contextmanager
def keep_autoincrement(
    connection: Connection, metadata: MetaData, logger: Logger
) -> Iterator[None]:
    """Run migrations; then restore AUTOINCREMENT, and the highest ids, of tables that lost them.

    Also repairs tables that were copied earlier.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    highest = _highest_ids(connection)
    yield
    for table in _without_autoincrement(connection, metadata):
        logger.warning("table %s had lost AUTOINCREMENT, and is built anew", table)
        _rebuild(connection, table)
        highest[table] = max(highest.get(table, 0), *_referenced_ids(connection, table))
    _advance_sequences(connection, highest)


def _highest_ids(connection: Connection) -> dict[str, int]:
    """Return the highest id that was ever generated, by table."""
    if "sqlite_sequence" not in _tables(connection):
        return {}
    rows = connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
    return {row.name: row.seq for row in rows}


def _tables(connection: Connection) -> dict[str, str]:
    """Return the statements that created the tables."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    return {row.name: row.sql for row in connection.execute(text(query))}


def _without_autoincrement(connection: Connection, metadata: MetaData) -> list[str]:
    created = _tables(connection)
    return [
        table.name
        for table in metadata.sorted_tables
        if table.dialect_options["sqlite"]["autoincrement"]
        and "AUTOINCREMENT" not in created.get(table.name, "AUTOINCREMENT").upper()
        and _has_integer_ids(connection, table.name)
    ]


def _has_integer_ids(connection: Connection, table: str) -> bool:
    """Return True if a table has integer ids; the ID_TYPE may be another."""
    key = inspect(connection).get_pk_constraint(table)["constrained_columns"]
    columns = inspect(connection).get_columns(table)
    types = [column["type"] for column in columns if column["name"] in key]
    return len(types) == 1 and isinstance(types[0], Integer)


def _rebuild(connection: Connection, table: str) -> None:
    """Replace a table by a copy with AUTOINCREMENT."""
    operations = Operations(MigrationContext.configure(connection))
    options = {"sqlite_autoincrement": True}
    with operations.batch_alter_table(table, recreate="always", table_kwargs=options):
        pass


def _referenced_ids(connection: Connection, table: str) -> list[int]:
    """Return the highest id of each table's rows to which the audit log refers."""
    if table not in REFERENCES or "audit" not in _tables(connection):
        return [0]
    highest = (f"SELECT max({column}) FROM audit" for column in REFERENCES[table])  # noqa: S608
    return [connection.scalar(text(query)) or 0 for query in highest]


def _advance_sequences(connection: Connection, highest: Mapping[str, int]) -> None:
    """Make each table generate only ids higher than these."""
    created, counted = _tables(connection), _highest_ids(connection)
    for table, seq in highest.items():
        if "AUTOINCREMENT" not in created.get(table, "").upper() or counted.get(table, 0) >= seq:
            continue
        row = {"name": table, "seq": seq}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), row)
        connection.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), row)
