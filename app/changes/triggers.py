"""The triggers that record changes: they see whatever writes rows, and cost others nothing.

They follow from the models. Their names have a digest of what they do, so that those of a database
are compared by name.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from sqlalchemy import Connection, Dialect, inspect, text

from app.database.columns import AnyColumn
from app.database.metadata import DerivedObjects

from .models import CREATE, REMOVE, UPDATE, Change
from .watched import Watched

PREFIX = "ostiary_changes_"
TRIGGERS = {
    "sqlite": text(
        "SELECT name, tbl_name AS owner FROM sqlite_master"
        " WHERE type = 'trigger' AND name LIKE 'ostiary\\_changes\\_%' ESCAPE '\\'"
    ),
    "postgresql": text(
        "SELECT tgname AS name, relname AS owner FROM pg_trigger"
        " JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal"
        " AND relnamespace = current_schema()::regnamespace"
        " AND tgname LIKE 'ostiary\\_changes\\_%' ESCAPE '\\'"
    ),
}
# How PostgreSQL names the rows that a statement has written.
ROWS = {
    "INSERT": "NEW TABLE AS new_rows",
    "UPDATE": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "DELETE": "OLD TABLE AS old_rows",
}
KINDS = {"INSERT": CREATE, "UPDATE": UPDATE, "DELETE": REMOVE}


class Triggers(DerivedObjects):
    """The triggers of the models whose changes are recorded."""

    def __init__(self, watched: Mapping[str, Watched]) -> None:
        self._watched = watched

    def missing(self, connection: Connection) -> list[str]:
        """Return the models whose changes are not recorded, for an error."""
        found = _existing(connection)
        return [
            f"triggers for the changes of {name}"
            for name, watched in self._watched.items()
            if not set(_triggers(watched, connection.dialect)) <= found.keys()
        ]

    def update(self, connection: Connection) -> None:
        """Create the triggers that are missing, and drop those of other models or columns.

        Those of a table that is not migrated yet are created with its migration.
        """
        inspector = inspect(connection)
        if not inspector.has_table(Change.__tablename__):
            return
        wanted: dict[str, str] = {}
        for watched in self._watched.values():
            table = watched.table
            if inspector.has_table(table.name):
                stored = {column["name"] for column in inspector.get_columns(table.name)}
                if stored.issuperset(column.name for column in table.columns):
                    wanted |= _triggers(watched, connection.dialect)
        found = _existing(connection)
        for name in found.keys() - wanted.keys():
            on_table = "" if connection.dialect.name == "sqlite" else f' ON "{found[name]}"'
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"{on_table}')
        for name in wanted.keys() - found.keys():
            connection.exec_driver_sql(f'CREATE TRIGGER "{name}" {wanted[name]}')


def _existing(connection: Connection) -> dict[str, str]:
    """Return the triggers of the database by name, each with its table."""
    rows = connection.execute(TRIGGERS[connection.dialect.name])
    return {row.name: row.owner for row in rows}


def _triggers(watched: Watched, dialect: Dialect) -> dict[str, str]:
    """Return the triggers of a model by name: what follows `CREATE TRIGGER` and the name."""
    write = _of_sqlite if dialect.name == "sqlite" else _of_postgres
    written = (write(watched, operation, dialect) for operation in KINDS)
    return {f"{PREFIX}{sha256(sql.encode()).hexdigest()[:16]}": sql for sql in written}


def _of_postgres(watched: Watched, operation: str, dialect: Dialect) -> str:
    table = dialect.identifier_preparer.format_table(watched.table)
    key = watched.collection.rows.key.name
    arguments = [watched.collection.name, key, *(column.name for column in watched.kept)]
    return (
        f"AFTER {operation} ON {table} REFERENCING {ROWS[operation]} FOR EACH STATEMENT"
        f" EXECUTE FUNCTION ostiary_log_changes({', '.join(map(_quoted, arguments))})"
    )


def _of_sqlite(watched: Watched, operation: str, dialect: Dialect) -> str:
    quote, table = dialect.identifier_preparer.quote, watched.table
    is_new, is_old = operation != "DELETE", operation != "INSERT"
    row = "NEW" if is_new else "OLD"
    names, condition = "NULL", ""
    if is_new and is_old:
        differing = {column.name: _differs(column, quote) for column in table.columns}
        names = " || ".join(
            f"CASE WHEN {differs} THEN {_quoted(',' + json.dumps(name))} ELSE '' END"
            for name, differs in differing.items()
        )
        names = f"'[' || substr({names}, 2) || ']'"
        condition = f" WHEN {' OR '.join(differing.values())}"
    key = quote(watched.collection.rows.key.name)
    values = {
        "model": _quoted(watched.collection.name),
        "row_id": f"CAST({row}.{key} AS TEXT)",
        "kind": _quoted(KINDS[operation]),
        "names": names,
        "before": f"json_object({_kept('OLD', watched.kept, quote)})" if is_old else "NULL",
        "after": f"json_object({_kept('NEW', watched.kept, quote)})" if is_new else "NULL",
        # The form in which SQLAlchemy stores times.
        "created": "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
        "actor": "(SELECT nullif(actor, '') FROM change_actor)",
        "request_id": "(SELECT nullif(request_id, '') FROM change_actor)",
    }
    logged = f"INSERT INTO change_log ({', '.join(values)})"
    return (
        f"AFTER {operation} ON {quote(table.name)}{condition} BEGIN"
        f" {logged} VALUES ({', '.join(values.values())}); END"
    )


def _differs(column: AnyColumn, quote: Callable[[str], str]) -> str:
    return f"OLD.{quote(column.name)} IS NOT NEW.{quote(column.name)}"


def _kept(row: str, kept: Iterable[AnyColumn], quote: Callable[[str], str]) -> str:
    return ", ".join(f"{_quoted(column.name)}, {row}.{quote(column.name)}" for column in kept)


def _quoted(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
