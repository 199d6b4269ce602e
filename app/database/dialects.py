"""Differences between databases: SQL that is compiled for each, and how transactions begin.

A construct without a version for a database is compiled as for PostgreSQL. The service's statements
need `RETURNING` after INSERT, UPDATE and DELETE, `ON CONFLICT DO UPDATE`, and window functions; a
further database must have them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Dialect, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

ESCAPE = "\\"
# How a transaction that may write begins: on SQLite, one that begins with a read cannot write after
# another one has written. On PostgreSQL, what is read after a lock is what others have committed,
# whatever the server's default is.
BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN ISOLATION LEVEL READ COMMITTED"}
# Table arguments, for `__table_args__`, so that ids of deleted rows are never generated again.
IDS_GIVEN_ONCE: dict[str, Any] = {"sqlite_autoincrement": True}
# 64 bits; SQLite generates ids only for INTEGER columns.
BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# UUIDs, as text in Python.
UUID_TEXT = sa.Uuid(as_uuid=False).with_variant(sa.String(36), "sqlite")


def _literals(*names: str) -> list[ColumnElement[str]]:
    return [sa.literal_column(f"'{name}'") for name in names]


# SQLite's names for the types of texts, numbers and booleans in JSON.
TEXTS = _literals("text")
NUMBERS = _literals("integer", "real")
BOOLEANS = _literals("true", "false")
# The databases' names for the types of JSON values.
JSON_TEXTS = [*TEXTS, *_literals("string")]
JSON_NUMBERS = [*NUMBERS, *_literals("number")]
JSON_BOOLEANS = [*BOOLEANS, *_literals("boolean")]


def text_type(length: int) -> TypeEngine[str]:
    """Return a text type that sorts by code point, as SQLite's does by default."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def decimal_type(precision: int, scale: int) -> TypeEngine[Any]:
    """Return a type for exact decimals; it stores integers on a database without decimals."""
    return sa.Numeric(precision, scale).with_variant(sa.BigInteger(), "sqlite")


def has_decimals(dialect: Dialect) -> bool:
    """Return True if the database has exact decimals; SQLite's are floats."""
    return dialect.name != "sqlite"


class CodePoints(FunctionElement[str]):
    """A text that is compared and sorted by code point, as on SQLite."""

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
    """The condition that a column has one of the values in the list passed as a parameter."""

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


class OnlyItem(FunctionElement[Any]):
    """A value that a column equals, if an order begins with the column.

    PostgreSQL leaves such a column out of the order, and may then read the rows with all other
    values by an index of the rest. It does not if the value is any of an array.
    """

    inherit_cache = True

    def __init__(self, value: ColumnElement[Any]) -> None:
        super().__init__(value)
        self.type = value.type


@compiles(OnlyItem)
def _any_of_array_of_one(element: OnlyItem, compiler: SQLCompiler, **options: object) -> str:
    return f"ANY (ARRAY[{compiler.process(element.clauses, **options)}])"


@compiles(OnlyItem, "sqlite")
def _the_value(element: OnlyItem, compiler: SQLCompiler, **options: object) -> str:
    return compiler.process(element.clauses, **options)


class DatabaseTime(FunctionElement[datetime]):
    """The time by the clock of the database, which all instances share.

    In a transaction it is that of its beginning, except on SQLite.
    """

    inherit_cache = True
    type = sa.DateTime(timezone=True)


@compiles(DatabaseTime)
def _current_timestamp(element: DatabaseTime, compiler: SQLCompiler, **options: object) -> str:
    return "CURRENT_TIMESTAMP"


@compiles(DatabaseTime, "sqlite")
def _strftime(element: DatabaseTime, compiler: SQLCompiler, **options: object) -> str:
    """Compile the time in the form in which SQLAlchemy stores times."""
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


class Like(FunctionElement[bool]):
    """The condition that a text matches a pattern of `LIKE`, also given as one of `GLOB`.

    SQLite's own `LIKE` ignores the case.
    """

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, value: ColumnElement[str], pattern: str, glob: str) -> None:
        super().__init__(value, literal(pattern), literal(glob))


class Contains(Like):
    """The same for a pattern with text between two %, also given as that text.

    SQLite's `instr` hardly depends on the length of the text, as `GLOB` does.
    """

    inherit_cache = True


class EndsWith(Like):
    """The same for a pattern with % before a text, also given as that text."""

    inherit_cache = True


class Regexp(Like):
    """The same for a regular expression of PostgreSQL instead of the pattern of `LIKE`."""

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
    """The value at a path in a JSON column, as text; on SQLite with its own type."""

    inherit_cache = True
    type = sa.String()

    def __init__(self, column: ColumnElement[Any], steps: Sequence[str]) -> None:
        path = "$" + "".join(f'."{step}"' for step in steps)
        super().__init__(column, literal(path), *map(literal, steps))


class JsonType(JsonValue):
    """The name of that value's type."""

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
    """The condition that a JSON array contains one of these scalars.

    NULL if the value is not an array.
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
    """Compile one search of the items for all values, because the search takes long."""
    column, *values = element.clauses
    items = func.json_each(column).table_valued("value", "type")
    wanted: dict[type, list[ColumnElement[Any]]] = {sa.String: [], sa.Boolean: [], object: []}
    for value in values[: len(values) // 2]:
        wanted[next(kind for kind in wanted if isinstance(value.type, kind))].append(value)
    types = zip(wanted.values(), (TEXTS, BOOLEANS, NUMBERS), strict=True)
    # An IN with no values would run a subquery for each item.
    is_equal = [items.c.value.in_(some) & items.c.type.in_(names) for some, names in types if some]
    exists = items.select().where(sa.or_(*is_equal)).exists()
    return f"({compiler.process(sa.case((column.is_not(None), exists)), **options)})"


def _processed(
    element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, object]
) -> list[str]:
    return [compiler.process(clause, **options) for clause in element.clauses]


def begin(connection: Connection) -> None:
    """Begin a transaction that may write."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])


@contextmanager
def limited_transaction(connection: Connection, milliseconds: int) -> Iterator[None]:
    """Run a block in a transaction that is not committed, and limit its waiting for locks.

    PostgreSQL limits each of its statements to the same time.
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


def insert_for(dialect: str) -> Any:
    """Return the database's `insert` construct, which has `on_conflict_do_update`.

    The engine has already imported its dialect; importing another takes time and memory.
    """
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


def reads_whole_results(dialect: Dialect) -> bool:
    """Return True if the driver, without a server-side cursor, reads all rows at once.

    SQLite always reads row by row.
    """
    return dialect.name == "postgresql"


def count_on_after(connection: Connection, table: sa.Table, highest: int) -> None:
    """Make the database generate only ids after this one; SQLite does so when it is stored.

    Must run in a transaction: ids taken meanwhile would be generated again.
    """
    if connection.dialect.name != "postgresql":
        return
    quoted = connection.dialect.identifier_preparer.format_table(table)
    sequence = connection.scalar(sa.select(func.pg_get_serial_sequence(quoted, "id")))
    if sequence is None:
        return
    # Only if the sequence would generate this id; asking it for the next one would use one up.
    next_id = sa.literal_column("last_value + CAST(is_called AS integer)", sa.BigInteger())
    count_on = sa.select(func.setval(sequence, highest)).select_from(sa.text(sequence))
    would_generate = sa.select(next_id <= highest).select_from(sa.text(sequence))
    if connection.scalar(would_generate):
        # The lock keeps others from taking ids until the transaction ends.
        connection.execute(sa.text(f"LOCK TABLE {quoted} IN SHARE ROW EXCLUSIVE MODE"))
        connection.execute(count_on.where(next_id <= highest))
