"""Counting the calls of a batch that search: each may take as long as a request may."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from app.errors import InvalidFilter

from .bounds import searches
from .tree import Filter

#: Maximum calls of a batch that search: aggregates, and calls whose filter has patterns, conditions
#: on objects, arrays, positions, related rows or computed properties, or an order by a path, a
#: position or a computed property.
MAX_SEARCHES = 1


class Searches:
    """The calls of a batch that have searched."""

    def __init__(self) -> None:
        self._made = 0
        self._is_counted = False

    def enter_call(self) -> None:
        """Begin the next call, which counts once however many filters it has."""
        self._is_counted = False

    def count(self) -> None:
        """Count the call; raise InvalidFilter if too many search."""
        if self._is_counted:
            return
        if self._made == MAX_SEARCHES:
            raise InvalidFilter(
                f"Of the calls of a batch, at most {MAX_SEARCHES} may search: aggregate, compare"
                " with patterns, objects, arrays, positions or related rows, or order by paths."
            )
        self._made += 1
        self._is_counted = True


# None in a request that makes one call.
_searches: ContextVar[Searches | None] = ContextVar("searches", default=None)


@contextmanager
def counting_searches() -> Iterator[Searches]:
    """Count the calls of a block that search. It is a context manager."""
    token = _searches.set(counted := Searches())
    try:
        yield counted
    finally:
        _searches.reset(token)


def count_search() -> None:
    """Count a call of a batch; raise InvalidFilter if too many search."""
    if (counted := _searches.get()) is not None:
        counted.count()


def count_filters(filters: Iterable[Filter]) -> None:
    """Count a call of a batch if one of its filters searches; raise InvalidFilter."""
    if (counted := _searches.get()) is not None and any(map(searches, filters)):
        counted.count()


def count_given(filter_: Filter, given: Mapping[str, object] | None) -> None:
    """Count a call of a batch if its filter searches; raise InvalidFilter.

    Unless the client has given no condition or order: a default filter does not limit batches.
    """
    if given and (given.get("where") or given.get("order")):
        count_filters([filter_])
