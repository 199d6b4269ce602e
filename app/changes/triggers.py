"""The triggers that record changes: they see whatever writes rows, and cost others nothing.

They follow from the models. Their names have a digest of what they do, so that those of a database
are compared by name.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256

from sqlalchemy import JSON, Connection, Dialect, TextClause, inspect, text

from app.database.columns import AnyColumn
from app.database.metadata import DerivedObjects

from .models import CREATE, REMOVE, UPDATE, Change
from .watched import Watched

PREFIX = "ostiary_changes_"
# Stands for the name of a trigger in the statements that create it.
NAME = ":name:"
DROP = {
    "sqlite": 'DROP TRIGGER "{name}"',
    "postgresql": 'DROP FUNCTION "{name}"() CASCADE',
}
TRIGGERS = {
    "sqlite": text(
        "SELECT name FROM sqlite_master"
        " WHERE type = 'trigger' AND name LIKE 'ostiary\\_changes\\_%' ESCAPE '\\'"
    ),
    "postgresql": text(
        "SELECT tgname FROM pg_trigger"
        " JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal"
        " AND relnamespace = current_schema()::regnamespace"
        " AND tgname LIKE 'ostiary\\_changes\\_%' ESCAPE '\\'"
    ),
}
# What is dropped: on PostgreSQL functions, which tables leave behind, and with them triggers.
DROPPABLE = {
    "sqlite": TRIGGERS["sqlite"],
    "postgresql": text(
        "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        " AND proname LIKE 'ostiary\\_changes\\_%' ESCAPE '\\'"
    ),
}
# How PostgreSQL names the rows that a statement has written, and where they are joined.
ROWS = {
    "INSERT": ("NEW TABLE AS new_rows", "new_rows AS n"),
    "UPDATE": (
        "OLD TABLE AS old_rows NEW TABLE AS new_rows",
        "old_rows AS o JOIN new_rows AS n ON n.{key} = o.{key}",
    ),
    "DELETE": ("OLD TABLE AS old_rows", "old_rows AS o"),
}
# What a trigger of PostgreSQL calls: one statement logs all rows that a statement has written.
# Notifications make transactions commit one after the other, so that they can be switched off.
FUNCTION = """CREATE OR REPLACE FUNCTION "{name}"() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO change_log ({columns}) SELECT {values} FROM {rows}{where};
    IF FOUND AND current_setting('ostiary.notify', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('ostiary_changes', '');
    END IF;
    RETURN NULL;
END
$$"""
KEPT = "(SELECT row_to_json(kept) FROM (SELECT {columns}) AS kept)"
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
            if not set(_triggers(watched, connection.dialect)) <= found
        ]

    def update(self, connection: Connection) -> None:
        """Create the triggers that are missing, and drop those of other models or columns.

        Those of a table that is not migrated yet are created with its migration.
        """
        inspector = inspect(connection)
        if not inspector.has_table(Change.__tablename__):
            return
        wanted: dict[str, list[str]] = {}
        for watched in self._watched.values():
            table = watched.table
            if inspector.has_table(table.name):
                stored = {column["name"] for column in inspector.get_columns(table.name)}
                if stored.issuperset(column.name for column in table.columns):
                    wanted |= _triggers(watched, connection.dialect)
        found = _existing(connection)
        for name in _existing(connection, DROPPABLE) - wanted.keys():
            connection.exec_driver_sql(DROP[connection.dialect.name].format(name=name))
        for name in wanted.keys() - found:
            for statement in wanted[name]:
                connection.exec_driver_sql(statement.replace(NAME, name))


def _existing(connection: Connection, queries: Mapping[str, TextClause] = TRIGGERS) -> set[str]:
    """Return the names of the triggers of the database, or of what is dropped with them."""
    return set(connection.scalars(queries[connection.dialect.name]))


def _triggers(watched: Watched, dialect: Dialect) -> dict[str, list[str]]:
    """Return the triggers of a model by name: the statements that create each."""
    write = _of_sqlite if dialect.name == "sqlite" else _of_postgres
    written = [write(watched, operation, dialect) for operation in KINDS]
    return {
        f"{PREFIX}{sha256(''.join(statements).encode()).hexdigest()[:16]}": statements
        for statements in written
    }


def _of_postgres(watched: Watched, operation: str, dialect: Dialect) -> list[str]:
    quote = dialect.identifier_preparer.quote
    key, (referencing, rows) = quote(watched.collection.rows.key.name), ROWS[operation]

    def keep(row: str) -> str:
        columns = ", ".join(f"{row}.{quote(column.name)}" for column in watched.kept)
        return KEPT.format(columns=columns) if columns else "'{}'"

    compared = {column.name: _comparable(column, quote) for column in watched.table.columns}
    differing = {name: f"o.{value} IS DISTINCT FROM n.{value}" for name, value in compared.items()}
    cases = (f"CASE WHEN {each} THEN {_quoted(name)} END" for name, each in differing.items())
    names = f"to_json(array_remove(ARRAY[{', '.join(cases)}], NULL))"
    values = _values(watched, operation, names, keep, ("o", "n"), f"{{row}}.{key}::text") | {
        "transaction_id": "pg_current_xact_id()::text::bigint",
        "created": "clock_timestamp()",
        "actor": "nullif(current_setting('ostiary.actor', true), '')",
        "request_id": "nullif(current_setting('ostiary.request_id', true), '')",
    }
    function = FUNCTION.format(
        name=NAME,
        columns=", ".join(values),
        values=", ".join(values.values()),
        rows=rows.format(key=key),
        where=f" WHERE {' OR '.join(differing.values())}" if operation == "UPDATE" else "",
    )
    trigger = (
        f'CREATE TRIGGER "{NAME}" AFTER {operation} ON {quote(watched.table.name)} REFERENCING'
        f' {referencing} FOR EACH STATEMENT EXECUTE FUNCTION "{NAME}"()'
    )
    return [function, trigger]


def _of_sqlite(watched: Watched, operation: str, dialect: Dialect) -> list[str]:
    quote = dialect.identifier_preparer.quote

    def keep(row: str) -> str:
        pairs = (f"{_quoted(each.name)}, {row}.{quote(each.name)}" for each in watched.kept)
        return f"json_object({', '.join(pairs)})"

    differing = {
        column.name: f"OLD.{quote(column.name)} IS NOT NEW.{quote(column.name)}"
        for column in watched.table.columns
    }
    cases = (
        f"CASE WHEN {differs} THEN {_quoted(',' + json.dumps(name))} ELSE '' END"
        for name, differs in differing.items()
    )
    names = f"'[' || substr({' || '.join(cases)}, 2) || ']'"
    key = f"CAST({{row}}.{quote(watched.collection.rows.key.name)} AS TEXT)"
    values = _values(watched, operation, names, keep, ("OLD", "NEW"), key) | {
        # The form in which SQLAlchemy stores times.
        "created": "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
        "actor": "(SELECT nullif(actor, '') FROM change_actor)",
        "request_id": "(SELECT nullif(request_id, '') FROM change_actor)",
    }
    condition = f" WHEN {' OR '.join(differing.values())}" if operation == "UPDATE" else ""
    logged = f"INSERT INTO change_log ({', '.join(values)})"
    return [
        f'CREATE TRIGGER "{NAME}" AFTER {operation} ON {quote(watched.table.name)}{condition}'
        f" BEGIN {logged} VALUES ({', '.join(values.values())}); END"
    ]


def _values(
    watched: Watched,
    operation: str,
    names: str,
    keep: Callable[[str], str],
    rows: tuple[str, str],
    key: str,
) -> dict[str, str]:
    """Return the SQL of a change's columns; `rows` are the names of the row before and after."""
    old, new = rows
    values = {
        "model": _quoted(watched.collection.name),
        "row_id": key.format(row=old if operation == "DELETE" else new),
        "kind": _quoted(KINDS[operation]),
    }
    if operation == "UPDATE":
        values["names"] = names
    if operation != "INSERT":
        values["before"] = keep(old)
    if operation != "DELETE":
        values["after"] = keep(new)
    return values


def _comparable(column: AnyColumn, quote: Callable[[str], str]) -> str:
    """Return a column as PostgreSQL compares it: it cannot compare JSON."""
    is_json = isinstance(getattr(column.type, "impl", column.type), JSON)
    return f"{quote(column.name)}{'::text' if is_json else ''}"


def _quoted(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
