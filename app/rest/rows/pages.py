"""Reading the rows of a response up to its maximum size."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from app.errors import InvalidFilter
from app.rest.filters.tree import Filter

from .values import Row

#: Maximum included objects of a response; each counts as often as it occurs.
MAX_OBJECTS = 10_000
#: Maximum queries for the included rows of a response: one for each relation and, if it leads to
#: rows of several models, for each of those that occur.
MAX_QUERIES = 10
#: Maximum bytes of the JSON of a response's rows; half of it is for included rows, if any.
MAX_BYTES = 2_000_000
# Bytes of a property in JSON in addition to its name and text: a number or a time.
PROPERTY_SIZE = 20
#: The factor by which objects and arrays count: they are parsed, measured and written again.
JSON_COST = 2


class Page(NamedTuple):
    """The rows of one page, and whether there are more after it."""

    rows: Sequence[Row]
    more: bool


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
        self, path: str, found: Iterable[Row], row_size: RowSize, times: Callable[[Row], int]
    ) -> list[Row]:
        """Read the rows of an include at a path; raise InvalidFilter beyond the budget.

        `times` returns how often the object of a row occurs in the response.
        """
        rows = []
        for row in found:
            self.spend(path, row_size.of(row), times(row))
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
