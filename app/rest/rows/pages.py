"""Read the rows of a response up to its maximum size."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from app.errors import InvalidFilter
from app.rest.filters.tree import Filter

#: Included objects of an answer; each counts as often as the answer has it.
MAX_OBJECTS = 10_000
#: Queries for the included rows of an answer: one for each relation and, where it leads to rows of
#: several models, one for each of them that is in the answer.
MAX_QUERIES = 10
#: Bytes of the JSON of an answer's rows; half of it for included rows where there are any.
MAX_BYTES = 2_000_000
# Bytes of a property in JSON beside its name and text: a number or a point in time.
PROPERTY_SIZE = 20
#: How often the JSON of objects and arrays counts towards these bytes: it is read, measured and
#: written again.
JSON_COST = 2


class Page(NamedTuple):
    """The rows of one page, and whether there are more after it."""

    rows: Sequence[Any]
    more: bool


@dataclass(frozen=True)
class RowSize:
    """Measures rows: the bytes that each has in JSON."""

    # Those beside text and JSON.
    names: int
    # The places of the columns that hold text, of which a character takes up to 12, and JSON.
    texts: Sequence[int]
    jsons: Sequence[int]

    def of(self, row: Sequence[Any]) -> int:
        """Return the bytes of a row."""
        size = self.names
        for column in self.texts:
            size += len(encode_basestring_ascii(row[column] or ""))
        for column in self.jsons:
            size += JSON_COST * len(json.dumps(row[column]))
        return size


def read_page(found: Iterable[Any], row_size: RowSize, filter_: Filter) -> Page:
    """Read the rows of a page; there must be one more than the limit of the filter, or fewer.

    If the client set no limit, the page ends where its bytes reach the maximum. If it set one, a
    page that exceeds it raises InvalidFilter: the client computes its next `skip` from a full page.
    """
    rows: list[Any] = []
    size, most = 0, MAX_BYTES // 2 if filter_.include else MAX_BYTES
    for row in found:
        size += row_size.of(row)
        if len(rows) == filter_.limit or (rows and size > most):
            _check_whole(rows, filter_, most)
            return Page(rows, more=True)
        rows.append(row)
    return Page(rows, more=False)


def _check_whole(rows: Sequence[Any], filter_: Filter, most: int) -> None:
    if len(rows) < filter_.limit and filter_.has_limit:
        raise InvalidFilter(
            f"limit: {len(rows)} of these rows have {most:,} bytes, which is as much as an answer "
            "has; ask for fewer of them, or for fewer fields."
        )


def size_of_names(names: Iterable[str], filter_: Filter) -> int:
    """Return about how many bytes a row has in JSON beside its text, with the includes' names."""
    selected = names if filter_.fields is None else filter_.fields
    return sum(PROPERTY_SIZE + len(name) for name in chain(selected, filter_.include))


@dataclass
class Budget:
    """The objects and bytes that a response may still include."""

    objects: int = MAX_OBJECTS
    bytes: int = MAX_BYTES // 2
    queries: int = MAX_QUERIES

    def query(self, path: str) -> None:
        """Subtract a query for what is included at a path; raise InvalidFilter beyond the budget.

        How many there are depends on the rows where a relation leads to several models.
        """
        self.queries -= 1
        if self.queries < 0:
            raise InvalidFilter(
                f"{path}: an answer includes rows of at most {MAX_QUERIES} relations and models;"
                " ask for fewer rows with limit."
            )

    def read(
        self, path: str, found: Iterable[Any], row_size: RowSize, times: Callable[[Any], int]
    ) -> list[Any]:
        """Read the rows that are included at a path; raise InvalidFilter beyond the budget.

        `times` returns how often the object of a row is in the response.
        """
        rows = []
        for row in found:
            self.spend(path, row_size.of(row), times(row))
            rows.append(row)
        return rows

    def spend(self, path: str, size: int, times: int) -> None:
        """Subtract an object of so many bytes that is included so many times."""
        self.check_count(path, times)
        self.objects -= times
        self.bytes -= size * times
        if self.bytes < 0:
            self._refuse(path, f"{MAX_BYTES // 2:,} bytes")

    def check_count(self, path: str, objects: int) -> None:
        """Raise InvalidFilter if so many objects are too many."""
        if objects > self.objects:
            self._refuse(path, f"{MAX_OBJECTS:,} objects")

    def _refuse(self, path: str, most: str) -> None:
        raise InvalidFilter(
            f"{path}: an answer includes at most {most}; ask for fewer rows with limit, or for "
            "fewer fields."
        )
