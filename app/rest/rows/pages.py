"""Reading the rows of a response, up to its maximum size.

Their statements are compiled once, or read in parts if they are large.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, TypeVar

from flask import current_app
from sqlalchemy import ColumnElement, Connection, Result

from app.access.policy import Grant
from app.database.columns import AnyColumn
from app.database.connections import PARTITION
from app.database.dialects import reads_whole_results
from app.database.ids import ObjectId, TextId, UuidId
from app.database.session import connection, db, transaction
from app.database.statements import PreparedStatement, RowReader
from app.errors import DatabaseTimeout, InvalidFilter
from app.fields import json as json_fields
from app.fields.base import MAX_TEXT
from app.ids import Id
from app.rest.filters.columns import is_json, is_text
from app.rest.filters.tree import Filter

from .grants import ALL_ROWS, NO_GRANTS, OWN_ROWS, OWNER, GeneralGrants, RelatedGrants
from .values import Element, Row, Statement

#: Maximum included objects of a response; each counts as often as it occurs.
MAX_OBJECTS = 10_000
#: Maximum queries for the included rows of a response: one for each relation and, if it leads to
#: rows of several models, for each of those that occur.
MAX_QUERIES = 10
#: Maximum bytes of the JSON of a response's rows; half of it is for included rows, if any.
MAX_BYTES = 2_000_000
# Bytes of a property in JSON in addition to its name and text: a number or a time.
PROPERTY_SIZE = 20
# Bytes of a file in addition: its name, its type and its signed URL.
FILE_SIZE = 400
#: The factor by which objects and arrays count: they are parsed, measured and written again.
JSON_COST = 2
#: Maximum characters of a statement's rows that PostgreSQL sends all at once.
MAX_CHARACTERS = 16_000_000
#: Most recently used compiled statements that a process keeps for lists and includes.
# About 50 kB each; a list has one for each of its includes.
MAX_STATEMENTS = 128


class Page(NamedTuple):
    """The rows of one page, and whether there are more after it."""

    rows: Sequence[Row]
    more: bool
    # The number of rows of all pages, if it was read together with them.
    total: int | None = None


@dataclass(frozen=True)
class RowSize:
    """Measures the bytes of rows in JSON."""

    # Bytes of all columns except text and JSON.
    names: int
    # The positions of text columns, where a character takes up to 12 bytes, and of JSON columns.
    texts: Sequence[int]
    jsons: Sequence[int]

    def of(self, row: Row) -> int:
        """Return the bytes of a row."""
        values: Sequence[Any] = row  # type: ignore[assignment]  # A tuple.
        size = self.names
        for column in self.texts:
            size += len(encode_basestring_ascii(values[column] or ""))
        for column in self.jsons:
            size += JSON_COST * len(json.dumps(values[column]))
        return size


def read_page(found: Iterable[Row], row_size: RowSize, filter_: Filter) -> Page:
    """Read the rows of a page; the limit of the statement must exceed the filter's by one.

    If the client set no limit, the page ends at the maximum size. If it set one, a page that
    exceeds the maximum raises InvalidFilter, because clients compute their next `skip` from a full
    page.
    """
    rows: list[Row] = []
    size, most = 0, MAX_BYTES // 2 if filter_.include else MAX_BYTES
    for row in found:
        size += row_size.of(row)
        if len(rows) == filter_.limit or (rows and size > most):
            _check_whole(rows, filter_, most)
            return Page(rows, more=True)
        rows.append(row)
    return Page(rows, more=False)


def read_page_with_total(found: Iterable[Row], row_size: RowSize, filter_: Filter) -> Page:
    """Read the rows of a page as `read_page` does; the last value of each is the number of all."""
    rows = iter(found)
    if (first := next(rows, None)) is None:
        return Page([], more=False)
    page = read_page(chain([first], rows), row_size, filter_)
    # By its position, as an attribute of a model in Python may have any name.
    values: Sequence[Any] = first  # type: ignore[assignment]  # A tuple.
    return page._replace(total=values[-1])


def _check_whole(rows: Sequence[Row], filter_: Filter, most: int) -> None:
    if len(rows) < filter_.limit and filter_.has_limit:
        raise InvalidFilter(
            f"limit: {len(rows)} of these rows have {most:,} bytes, which is as much as an answer "
            "has; ask for fewer of them, or for fewer fields."
        )


def size_of_names(names: Iterable[str], filter_: Filter) -> int:
    """Return the approximate bytes of a row's JSON without its texts, with names of includes."""
    selected = names if filter_.fields is None else filter_.fields
    return sum(PROPERTY_SIZE + len(name) for name in chain(selected, filter_.include))


def text_places(columns: Iterable[AnyColumn]) -> list[int]:
    """Return the positions of columns with text, ids included."""
    return [
        place
        for place, column in enumerate(columns)
        if is_text(column) or isinstance(column.type, TextId | UuidId | ObjectId)
    ]


@dataclass
class Budget:
    """The objects and bytes that a response may still include."""

    objects: int = MAX_OBJECTS
    bytes: int = MAX_BYTES // 2
    queries: int = MAX_QUERIES

    def query(self, path: str) -> None:
        """Subtract a query for an include at a path; raise InvalidFilter if none are left.

        If a relation leads to several models, the number of queries depends on the rows.
        """
        self.queries -= 1
        if self.queries < 0:
            raise InvalidFilter(
                f"{path}: an answer includes rows of at most {MAX_QUERIES} relations and models;"
                " ask for fewer rows with limit."
            )

    def read(
        self, path: str, row_size: RowSize, times: Counter[Id], key: str, found: Iterable[Row]
    ) -> list[Row]:
        """Read the rows of an include at a path; raise InvalidFilter beyond the budget.

        `times` maps values of the attribute `key` to how often the object of such a row occurs in
        the response.
        """
        rows = []
        for row in found:
            self.spend(path, row_size.of(row), times[getattr(row, key)])
            rows.append(row)
        return rows

    def spend(self, path: str, size: int, times: int) -> None:
        """Subtract an object of this size for each time it is included."""
        self.check_count(path, times)
        self.objects -= times
        self.bytes -= size * times
        if self.bytes < 0:
            self._refuse(path, f"{MAX_BYTES // 2:,} bytes")

    def check_count(self, path: str, objects: int) -> None:
        """Raise InvalidFilter for too many objects."""
        if objects > self.objects:
            self._refuse(path, f"{MAX_OBJECTS:,} objects")

    def _refuse(self, path: str, most: str) -> None:
        raise InvalidFilter(
            f"{path}: an answer includes at most {most}; ask for fewer rows with limit, or for "
            "fewer fields."
        )


Read = TypeVar("Read")
# Returns the statement for rows that meet conditions, with the related rows that grants cover; it
# may have parameters.
Build = Callable[[list[ColumnElement[bool]], RelatedGrants], Statement]


def max_characters(column: Element) -> int:
    """Return the maximum characters of a column: of text or JSON, 0 for others."""
    if is_json(column):
        return json_fields.MAX_LENGTH
    return (column.type.length or MAX_TEXT) if is_text(column) else 0  # type: ignore[attr-defined]


class KeptStatement:
    """A statement for rows that callers may read, compiled at its second execution.

    It has one version for callers who may read all rows, and one for those who may read their own,
    for the rows and for each relation of the filter; building it would be most of the work of a
    short response.
    """

    def __init__(self, owner: AnyColumn | None, build: Build, reader: RowReader) -> None:
        """Read the rows of the statement that `build` returns; `owner` is the column of owners."""
        self._owner = owner
        self._build = build
        self._reader = reader
        # By whether only the caller's own rows are permitted, and by the related ones that are.
        self._executed: set[tuple[bool, GeneralGrants]] = set()

    def read(
        self,
        grant: Grant,
        values: Mapping[str, object],
        characters: int,
        read: Callable[[Iterable[Row]], Read],
        related: RelatedGrants = NO_GRANTS,
    ) -> Read:
        """Execute it in the scope of a grant and those of relations, with values for parameters.

        Returns the result of a function of its rows, which may have `characters` in all.
        """
        in_parts = _is_read_in_parts(characters)
        own, general = grant.only_own and self._owner is not None, related.general
        if not in_parts and general is not None and (own or not grant.scope(self._owner)):
            version = own, general
            if version in self._executed:
                return _prepare(self, version).read({**values, OWNER: grant.user_id}, read)
            self._executed.add(version)
        statement = self._build(grant.scope(self._owner), related)
        return read_rows(self._reader, statement, values, characters, read)

    def prepare(self, version: tuple[bool, GeneralGrants]) -> PreparedStatement:
        """Compile a version of it."""
        own, general = version
        permitted = (OWN_ROWS if own else ALL_ROWS).scope(self._owner)
        return self._reader.prepare(self._build(permitted, RelatedGrants(dict(general), general)))


_prepare = lru_cache(maxsize=MAX_STATEMENTS)(KeptStatement.prepare)


def read_rows(
    reader: RowReader,
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
