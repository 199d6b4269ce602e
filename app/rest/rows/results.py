"""Statements that read a response's rows: compiled once, or read in parts if they are large."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from flask import current_app
from sqlalchemy import ColumnElement, Connection, Result, bindparam
from sqlalchemy.sql.visitors import iterate

from app.access.policy import Grant
from app.database.columns import AnyColumn
from app.database.dialects import reads_whole_results
from app.database.execution import PARTITION
from app.database.reading import Reader
from app.database.session import connection, db, transaction
from app.database.statements import PreparedStatement
from app.errors import DatabaseTimeout
from app.rest.fields import json as json_fields
from app.rest.fields.base import MAX_TEXT
from app.rest.filters.columns import is_json, is_text

from .values import Row, Statement

Read = TypeVar("Read")
# Returns the statement for rows that meet conditions; it may have parameters.
Build = Callable[[list[ColumnElement[bool]]], Statement]

#: Maximum characters of a statement's rows that PostgreSQL sends all at once.
MAX_CHARACTERS = 16_000_000
#: Most recently used compiled statements that a process keeps for lists and includes.
# About 50 kB each; a list has one for each of its includes.
MAX_STATEMENTS = 128


def max_characters(column: AnyColumn) -> int:
    """Return the maximum characters of a column: of text or JSON, 0 for others."""
    if is_json(column):
        return json_fields.MAX_LENGTH
    return (column.type.length or MAX_TEXT) if is_text(column) else 0  # type: ignore[attr-defined]


class KeptStatement:
    """A statement for rows that callers may read, compiled at its second execution.

    It has one version for callers who may read all rows, and one for those who may read their own;
    building it would be most of the work of a short response.
    """

    def __init__(self, owner: AnyColumn | None, build: Build, reader: Reader) -> None:
        """Read the rows of the statement that `build` returns; `owner` is the column of owners."""
        self._owner = owner
        self._build = build
        self._reader = reader
        # By whether only the caller's own rows are permitted.
        self._executed: set[bool] = set()

    def read(
        self,
        grant: Grant,
        values: Mapping[str, object],
        characters: int,
        read: Callable[[Iterable[Row]], Read],
    ) -> Read:
        """Execute it in the scope of a grant, with values for its parameters.

        Returns the result of a function of its rows, which may have `characters` in all.
        """
        own = grant.only_own and self._owner is not None
        if (own or not grant.scope(self._owner)) and not _is_read_in_parts(characters):
            if own in self._executed and (prepared := _prepare(self, own)):
                return prepared.read({**values, "owner": grant.user_id}, read)
            self._executed.add(own)
        statement = self._build(grant.scope(self._owner))
        return read_rows(self._reader, statement, values, characters, read)

    def prepare(self, own: bool) -> PreparedStatement | None:
        """Compile it for callers who may read their own rows, or all; None if impossible."""
        own_rows = [self._owner == bindparam("owner")] if own and self._owner is not None else []
        statement = self._build(own_rows)
        # SQLAlchemy writes lists of values into a statement at each execution.
        has_lists = any(getattr(part, "expanding", False) for part in iterate(statement))
        return None if has_lists else self._reader.prepare(statement)


_prepare = lru_cache(maxsize=MAX_STATEMENTS)(KeptStatement.prepare)


def read_rows(
    reader: Reader,
    statement: Statement,
    values: Mapping[str, object],
    characters: int,
    read: Callable[[Iterable[Row]], Read],
) -> Read:
    """Return the result of a function of a statement's rows, which may have `characters` in all.

    Raises DatabaseTimeout if reading them in parts takes longer than one statement may.
    """
    if _is_read_in_parts(characters):
        return _read_in_parts(statement, values, read)

    def work(database: Connection) -> Read:
        with database.execute(statement, values) as result:
            return read(chain.from_iterable(result.partitions(PARTITION)))

    return reader.read(work)


def _read_in_parts(
    statement: Statement,
    values: Mapping[str, object],
    read: Callable[[Iterable[Row]], Read],
) -> Read:
    in_parts = {"stream_results": True, "max_row_buffer": PARTITION}
    with transaction(), connection() as database:
        deadline = time.monotonic() + current_app.config["STATEMENT_TIMEOUT"]
        with database.execute(statement, values, execution_options=in_parts) as result:
            return read(_until(deadline, result))


def _is_read_in_parts(characters: int) -> bool:
    """Return True if rows with this maximum of characters are read in parts.

    A server-side cursor needs a transaction, and a round trip for each part.
    """
    return characters > MAX_CHARACTERS and reads_whole_results(db.engine.dialect)


def _until(deadline: float, result: Result[Any]) -> Iterator[Row]:
    for row in result:
        if time.monotonic() > deadline:
            raise DatabaseTimeout()
        yield row
