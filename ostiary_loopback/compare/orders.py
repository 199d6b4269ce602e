"""Orders of rows: whether two differ only where databases sort in different ways."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from unicodedata import combining, normalize

from .kinds import COLLATION, EMAIL, NULLS, TIES, Kind, Row

# Properties, and whether each is descending.
Order = Sequence[tuple[str, bool]]
Key = Callable[[Any], Any]


def order_kind(order: Order, id_name: str, old: Sequence[Row], new: Sequence[Row]) -> Kind | None:
    """Return the documented kind of two orders of the same rows, or None.

    The new one must be that of Ostiary: by code point, with rows without a value first; by the ids
    if the filter has no order.
    """
    if not order:
        return TIES if is_ordered([(id_name, False)], new) else None
    if not is_ordered(order, new) or not _shows(order, new):
        return None
    if not _have_same_values(order, old, new):
        return EMAIL if [name for name, _ in order][:1] == ["email"] else None
    if is_ordered(order, old):
        return TIES
    valued = [row for row in old if all(row.get(name) is not None for name, _ in order)]
    if is_ordered(order, valued):
        return NULLS
    return COLLATION if is_ordered(order, valued, fold) else None


def is_ordered(order: Order, rows: Sequence[Row], key: Key = lambda value: value) -> bool:
    """Return True if rows are in an order, whatever that of ties is."""
    try:
        return all(_precedes(order, first, second, key) for first, second in pairwise(rows))
    except TypeError:
        return False


def fold(value: Any) -> Any:
    """Return a text without case and accents, as most collations compare it."""
    if not isinstance(value, str):
        return value
    return "".join(char for char in normalize("NFKD", value) if not combining(char)).casefold()


def _precedes(order: Order, first: Row, second: Row, key: Key) -> bool:
    for name, is_descending in order:
        left, right = _sortable(first.get(name), key), _sortable(second.get(name), key)
        if left != right:
            return bool(left < right) != is_descending
    return True


def _sortable(value: Any, key: Key) -> tuple[Any, ...]:
    return () if value is None else (key(value),)


def _shows(order: Order, rows: Sequence[Row]) -> bool:
    """Return True if rows have the properties of an order, which `fields` may leave out."""
    return all(any(name in row for row in rows) for name, _ in order)


def _have_same_values(order: Order, old: Sequence[Row], new: Sequence[Row]) -> bool:
    values = [
        sorted(repr([row.get(name) for name, _ in order]) for row in rows) for rows in (old, new)
    ]
    return values[0] == values[1]
