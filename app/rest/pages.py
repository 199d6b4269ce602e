"""Read the rows of a response up to its maximum size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Result

from app.errors import InvalidFilter

from .filters import Filter

# Included objects of one response, at all levels together.
MAX_OBJECTS = 10_000
# Bytes of JSON text in the rows of a page; the same again in its included rows.
MAX_TEXT = 2_000_000
# Rows that are fetched at a time.
PARTITION = 100


class Page(NamedTuple):
    """The rows of one page, and whether there are more after it."""

    rows: Sequence[Any]
    more: bool


def read_page(result: Result[Any], filter_: Filter, text_columns: Sequence[int]) -> Page:
    """Read the rows of a page; the query must select one row more than its limit.

    If the client set no limit, the page ends at MAX_TEXT bytes. If it set one, a page that exceeds
    MAX_TEXT raises InvalidFilter: the client computes its next `skip` from a full page.
    """
    rows: list[Any] = []
    text = 0
    with result:
        for part in result.partitions(PARTITION):
            for row in part:
                text += text_size([row[column] for column in text_columns])
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
    """Return the bytes of a row's text in JSON, which escapes everything but ASCII."""
    size = 0
    for value in row:
        if isinstance(value, str):
            size += len(value) if value.isascii() else 6 * len(value)
    return size


@dataclass
class Budget:
    """The objects and bytes of text that a response may still include."""

    objects: int = MAX_OBJECTS
    text: int = MAX_TEXT

    def spend(self, path: str, objects: int, text: int, times: int = 1) -> None:
        """Subtract what is included at a path; raise InvalidFilter if the budget is exceeded."""
        self.objects -= objects * times
        self.text -= text * times
        if self.objects < 0:
            self._refuse(path, f"{MAX_OBJECTS:,} objects")
        if self.text < 0:
            self._refuse(path, f"{MAX_TEXT:,} bytes of text")

    def read(self, path: str, result: Result[Any]) -> list[Any]:
        """Read the rows that are included at a path; raise InvalidFilter beyond the budget."""
        rows = []
        with result:
            for row in result:
                self.spend(path, 1, text_size(row))
                rows.append(row)
        return rows

    def _refuse(self, path: str, most: str) -> None:
        raise InvalidFilter(
            f"{path}: an answer includes at most {most}; ask for fewer rows with limit, or for "
            "fewer fields."
        )
