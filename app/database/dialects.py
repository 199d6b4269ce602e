"""Differences between databases: SQL that is compiled for each, and how transactions begin.

What has no version for a database is compiled as for PostgreSQL. The statements of the service need
`RETURNING` after INSERT, UPDATE and DELETE, `ON CONFLICT DO UPDATE`, and window functions: a
further database must have them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Dialect, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

ESCAPE = "\\"
# How a transaction begins that can write: on SQLite one that starts with a read fails to write if
# another one wrote since.
BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
# Seconds to wait for another process that migrates.
MIGRATION_WAIT = 600
# The key of the lock by which PostgreSQL lets one process migrate at a time; any number will do.
MIGRATION_LOCK = 6513249171
# That by which it lets one process load fixtures at a time.
FIXTURES_LOCK = 6513249172


def _literals(*names: str) -> list[ColumnElement[str]]:
    return [sa.literal_column(f"'{name}'") for name in names]


# What SQLite calls the types of texts, numbers and booleans in JSON.
TEXTS = _literals("text")
NUMBERS = _literals("integer", "real")
BOOLEANS = _literals("true", "false")
# What the databases call the types of values in JSON.
JSON_TEXTS = [*TEXTS, *_literals("string")]
JSON_NUMBERS = [*NUMBERS, *_literals("number")]
JSON_BOOLEANS = [*BOOLEANS, *_literals("boolean")]

# Arguments of a table, in `__table_args__`, whose generated ids are never those of deleted rows.
IDS_GIVEN_ONCE: dict[str, Any] = {"sqlite_autoincrement": True}
# 64 bits; SQLite generates ids only for INTEGER columns.
BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# UUIDs, as text in Python.
UUID_TEXT = sa.Uuid(as_uuid=False).with_variant(sa.String(36), "sqlite")


def text_type(length: int) -> TypeEngine[str]:
    """Return a type of text that sorts by code point, as SQLite's does by itself."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def decimal_type(precision: int, scale: int) -> TypeEngine[Any]:
    """Return a type of exact decimals, and of whole numbers on a database that has none."""
    return sa.Numeric(precision, scale).with_variant(sa.BigInteger(), "sqlite")


def has_decimals(dialect: Dialect) -> bool:
    """Return True if the database has exact decimals: SQLite's are floats."""
    return dialect.name != "sqlite"


class CodePoints(FunctionElement[str]):
    """A text that is compared and sorted by code point, as SQLite does by itself."""

    inherit_cache = True

    def __init__(self, value: ColumnElement[str]) -> None:
        super().__init__(value)
        self.type = value.type


@compiles(CodePoints)
def _collate(element: CodePoints, compiler: SQLCompiler, **options: object) -> str:
    [value] = element.clauses
    return compiler.process(sa.collate(value, "C"), **options)


@compiles(CodePoints, "sqlite")
def _as_it_is(element: CodePoints, compiler: SQLCompiler, **options: object) -> str:
    return compiler.process(element.clauses, **options)


def directed(
    value: ColumnElement[Any], is_descending: bool, is_nullable: bool
) -> ColumnElement[Any]:
    """Return a value to order by; NULLs sort before all other values, on every database."""
    ordered = value.desc() if is_descending else value.asc()
    if not is_nullable:
        # NULLS FIRST on a NOT NULL column would keep PostgreSQL from using an index.
        return ordered
    return ordered.nulls_last() if is_descending else ordered.nulls_first()


class Among(FunctionElement[bool]):
    """The condition that a column has one of the values in the list that is a parameter."""

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        list_type = sa.JSON().with_variant(sa.ARRAY(column.type), "postgresql")
        super().__init__(column, sa.bindparam(name, type_=list_type))


@compiles(Among)
def _any_of_array(element: Among, compiler: SQLCompiler, **options: object) -> str:
    column, values = _processed(element, compiler, options)
    return f"{column} = ANY ({values})"


@compiles(Among, "sqlite")
def _in_json(element: Among, compiler: SQLCompiler, **options: object) -> str:
    column, parameter = element.clauses
    values = func.json_each(parameter).table_valued("value")
    return compiler.process(column.in_(sa.select(values.c.value)), **options)


class Like(FunctionElement[bool]):
    """The condition that a text matches a pattern of `LIKE`, given as one of `GLOB` too.

    SQLite's own `LIKE` ignores the case.
    """

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, value: ColumnElement[str], pattern: str, glob: str) -> None:
        super().__init__(value, literal(pattern), literal(glob))


class Contains(Like):
    """The same for a pattern that is text with % on both sides, given as that text too.

    SQLite's `instr` hardly depends on the length of the text, as `GLOB` does.
    """

    inherit_cache = True


class EndsWith(Like):
    """The same for a pattern that is text with % before it, given as that text too."""

    inherit_cache = True


class Regexp(Like):
    """The same for a regular expression of PostgreSQL in place of the pattern of `LIKE`."""

    inherit_cache = True


@compiles(Like)
def _like(element: Like, compiler: SQLCompiler, **options: object) -> str:
    value, pattern, _ = element.clauses
    return f"({compiler.process(value.like(pattern, escape=ESCAPE), **options)})"


@compiles(Like, "sqlite")
@compiles(Regexp, "sqlite")
def _glob(element: Like, compiler: SQLCompiler, **options: object) -> str:
    value, _, glob = _processed(element, compiler, options)
    return f"({value} GLOB {glob})"


@compiles(Contains, "sqlite")
def _instr(element: Contains, compiler: SQLCompiler, **options: object) -> str:
    value, _, contained = _processed(element, compiler, options)
    return f"(instr({value}, {contained}) > 0)"


@compiles(EndsWith, "sqlite")
def _substr(element: EndsWith, compiler: SQLCompiler, **options: object) -> str:
    value, _, end = _processed(element, compiler, options)
    return f"(substr({value}, -length({end})) = {end})"


@compiles(Regexp)
def _regexp(element: Regexp, compiler: SQLCompiler, **options: object) -> str:
    value, pattern, _ = element.clauses
    return f"({compiler.process(value.regexp_match(pattern), **options)})"


class JsonValue(FunctionElement[str]):
    """The value at a path in a JSON column: as text, on SQLite as a value of its type."""

    inherit_cache = True
    type = sa.String()

    def __init__(self, column: ColumnElement[Any], steps: Sequence[str]) -> None:
        path = "$" + "".join(f'."{step}"' for step in steps)
        super().__init__(column, literal(path), *map(literal, steps))


class JsonType(JsonValue):
    """The name of the type of that value."""

    inherit_cache = True


@compiles(JsonValue)
def _extract_path(element: JsonValue, compiler: SQLCompiler, **options: object) -> str:
    column, _, *steps = _processed(element, compiler, options)
    return f"json_extract_path_text({', '.join([column, *steps])})"


@compiles(JsonValue, "sqlite")
def _extract(element: JsonValue, compiler: SQLCompiler, **options: object) -> str:
    column, path, *_ = _processed(element, compiler, options)
    return f"json_extract({column}, {path})"


@compiles(JsonType)
def _type_at_path(element: JsonType, compiler: SQLCompiler, **options: object) -> str:
    column, _, *steps = _processed(element, compiler, options)
    return f"json_typeof(json_extract_path({', '.join([column, *steps])}))"


@compiles(JsonType, "sqlite")
def _type(element: JsonType, compiler: SQLCompiler, **options: object) -> str:
    column, path, *_ = _processed(element, compiler, options)
    return f"json_type({column}, {path})"


class HasItem(FunctionElement[bool]):
    """The condition that a JSON array has an item that equals one of these scalars.

    It is NULL without an array.
    """

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, column: ColumnElement[Any], wanted: Sequence[str | float]) -> None:
        arrays = [literal(json.dumps([value])) for value in wanted]
        super().__init__(column, *map(literal, wanted), *arrays)


@compiles(HasItem)
def _contains_array(element: HasItem, compiler: SQLCompiler, **options: object) -> str:
    column, *values = _processed(element, compiler, options)
    arrays = values[len(values) // 2 :]
    contained = (f"CAST({column} AS JSONB) @> CAST({array} AS JSONB)" for array in arrays)
    return f"({' OR '.join(contained)})"


@compiles(HasItem, "sqlite")
def _has_item(element: HasItem, compiler: SQLCompiler, **options: object) -> str:
    """Compile one search of the items, which takes long, for all values."""
    column, *values = element.clauses
    items = func.json_each(column).table_valued("value", "type")
    wanted: dict[type, list[ColumnElement[Any]]] = {sa.String: [], sa.Boolean: [], object: []}
    for value in values[: len(values) // 2]:
        wanted[next(kind for kind in wanted if isinstance(value.type, kind))].append(value)
    types = zip(wanted.values(), (TEXTS, BOOLEANS, NUMBERS), strict=True)
    # An IN of no values is a subquery for each item.
    is_equal = [items.c.value.in_(some) & items.c.type.in_(names) for some, names in types if some]
    exists = items.select().where(sa.or_(*is_equal)).exists()
    return f"({compiler.process(sa.case((column.is_not(None), exists)), **options)})"


def _processed(
    element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, object]
) -> list[str]:
    return [compiler.process(clause, **options) for clause in element.clauses]


def begin(connection: Connection) -> None:
    """Begin a transaction that can write."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])


@contextmanager
def limited_transaction(connection: Connection, milliseconds: int) -> Iterator[None]:
    """Run a block in a transaction, not committed, that waits no longer than this for a lock.

    On PostgreSQL each of its statements may take no longer either.
    """
    if connection.dialect.name != "sqlite":
        begin(connection)
        connection.exec_driver_sql(f"SET LOCAL statement_timeout={milliseconds}")
        yield
        return
    connection.exec_driver_sql(f"PRAGMA busy_timeout={milliseconds}")
    try:
        begin(connection)
        yield
    finally:
        usual = connection.info["busy_timeout"]
        connection.exec_driver_sql(f"PRAGMA busy_timeout={usual}")


def begin_migration(connection: Connection) -> None:
    """Begin a transaction that waits for that of another process that migrates.

    It leaves settings in the connection that others must not use.
    """
    if connection.dialect.name == "sqlite":
        _begin_sqlite_migration(connection)
    else:
        _begin_postgresql_migration(connection)


def _begin_sqlite_migration(connection: Connection) -> None:
    """Begin, with foreign keys off: to change a table, SQLite copies and then drops it.

    Dropping it would delete the rows that refer to its rows.
    """
    connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    connection.exec_driver_sql(f"PRAGMA busy_timeout={MIGRATION_WAIT * 1000}")
    begin(connection)


def _begin_postgresql_migration(connection: Connection) -> None:
    """Begin, without the time-outs of requests' statements and transactions.

    Their lock time-out stays: requests would queue behind a migration that waits for a lock. All
    is set for this transaction alone: PgBouncer gives the connection to others.
    """
    begin(connection)
    _lift_time_out(connection)
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    connection.exec_driver_sql("RESET lock_timeout")


def lock_others_out(connection: Connection, lock: int) -> None:
    """Let other transactions with the same lock wait for the end of this one.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name != "postgresql":
        return
    _lift_time_out(connection)
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")


def _lift_time_out(connection: Connection) -> None:
    """Let statements of PostgreSQL take as long as they need until the transaction ends."""
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    driver: Any = connection.connection.dbapi_connection
    driver.bound = None


def insert_for(dialect: str) -> Any:
    """Return the `insert` of a database, which has `on_conflict_do_update`.

    The engine has imported its dialect; the other one takes time and memory.
    """
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


def reads_whole_results(dialect: Dialect) -> bool:
    """Return True if the driver reads all rows of a result at once, unless it has a cursor.

    SQLite's rows are read one by one in any case.
    """
    return dialect.name == "postgresql"


def count_on_after(connection: Connection, table: sa.Table, highest: int) -> None:
    """Let the database generate only ids after this one; SQLite does so when it is stored.

    To be called in a transaction: ids that are given out meanwhile would be given out again.
    """
    if connection.dialect.name != "postgresql":
        return
    quoted = connection.dialect.identifier_preparer.format_table(table)
    sequence = connection.scalar(sa.select(func.pg_get_serial_sequence(quoted, "id")))
    if sequence is None:
        return
    # Only if it would generate one of these ids: asking it for the next one would take that.
    next_id = sa.literal_column("last_value + CAST(is_called AS integer)", sa.BigInteger())
    count_on = sa.select(func.setval(sequence, highest)).select_from(sa.text(sequence))
    would_generate = sa.select(next_id <= highest).select_from(sa.text(sequence))
    if connection.scalar(would_generate):
        # Others cannot take ids until the transaction ends.
        connection.execute(sa.text(f"LOCK TABLE {quoted} IN SHARE ROW EXCLUSIVE MODE"))
        connection.execute(count_on.where(next_id <= highest))
