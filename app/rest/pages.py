"""Read the rows of an answer, and stop where they would make it too large."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Result

from app.errors import InvalidFilter

from .filters import Filter

# Objects that one answer may include, at all levels together.
MAX_OBJECTS = 10_000
# Bytes of JSON text in the rows of a page, and again in those that are included.
MAX_TEXT = 2_000_000


class Page(NamedTuple):
    """The rows of one page, and whether there are more after it."""

    rows: Sequence[Any]
    more: bool


def read_page(result: Result[Any], filter_: Filter) -> Page:
    """Read the rows of a page, from a query for one row more than its limit.

    A page without a limit of the client's own ends where its text fills an answer. One with a
    limit is whole, as clients count on for the next `skip`: else this raises InvalidFilter.
    """
    rows: list[Any] = []
    text = 0
    with result:
        for row in result:
            text += text_size(row)
            if len(rows) == filter_.limit or (rows and text > MAX_TEXT):
                _check_whole(rows, filter_)
                return Page(rows, more=True)
            rows.append(row)
    return Page(rows, more=False)


def _check_whole(rows: Sequence[Any], filter_: Filter) -> None:
    if len(rows) < filter_.limit and filter_.has_limit:
        raise InvalidFilter(
            f"limit: {len(rows)} of these rows have {MAX_TEXT:,} bytes of text, which is as much "
            "as an answer has; ask for fewer of them, or for fewer fields."
        )


def text_size(row: Sequence[Any]) -> int:
    """Return how many bytes the text of a row is in JSON, which escapes all but ASCII."""
    return sum(
        len(value) if value.isascii() else 6 * len(value) for value in row if isinstance(value, str)
    )


@dataclass
class Budget:
    """What an answer may still include: objects, and bytes of text."""

    objects: int = MAX_OBJECTS
    text: int = MAX_TEXT

    def spend(self, place: str, objects: int, text: int, times: int = 1) -> None:
        """Count what is included at a place; raise InvalidFilter when that is too much."""
        self.objects -= objects * times
        self.text -= text * times
        if self.objects < 0:
            self._refuse(place, f"{MAX_OBJECTS:,} objects")
        if self.text < 0:
            self._refuse(place, f"{MAX_TEXT:,} bytes of text")

    def read(self, place: str, result: Result[Any]) -> list[Any]:
        """Read the rows that are included at a place, as far as the budget goes."""
        rows = []
        with result:
            for row in result:
                self.spend(place, 1, text_size(row))
                rows.append(row)
        return rows

    def _refuse(self, place: str, most: str) -> None:
        raise InvalidFilter(
            f"{place}: an answer includes at most {most}; ask for fewer rows with limit, or for "
            "fewer fields."
        )
