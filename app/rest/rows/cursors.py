"""Cursors of lists: where the next page begins, as a text that clients send back unchanged.

A cursor has the values by which the last row of a page is ordered: stored ones, which clients see.
It also identifies the model, the order and the types, so that a cursor of another list is refused.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import REAL, Float, Numeric
from sqlalchemy.types import TypeEngine

from app.database.columns import AnyColumn, UtcDateTime
from app.database.ids import app_id_form
from app.errors import InvalidFilter, TooDeep
from app.rest.filters import kinds, sql
from app.rest.filters.columns import kind_of
from app.rest.filters.kinds import Kind
from app.rest.filters.parser import MAX_CURSOR, MAX_SKIP, NO_CURSOR
from app.rest.filters.tree import Filter, Order, Place
from app.rest.requests.bodies import parse_json

from .hooks import Hook
from .values import Condition, Row

# Orders whose columns are kept for each collection.
MAX_ORDERS = 16
OTHER_LIST = (
    "after is a cursor of another model or order: take it from the Link header of the same list."
)
UNAVAILABLE = "after: lists in this order have no cursors; use skip."
# Maximum bits of a float that PostgreSQL stores as one of single precision.
MAX_REAL = 24
# Characters of a digest of model, order and types.
DIGEST_LENGTH = 12
# The decoder ignores what is too much.
PADDING = "=="
encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _read_time(value: object) -> datetime:
    """Read a time in UTC as `isoformat` writes it, unlike those of clients with microseconds."""
    time = datetime.fromisoformat(value) if isinstance(value, str) else None
    if time is None or time.tzinfo is not UTC:
        raise ValueError("not a time")
    return time


TIME = replace(kinds.TIME, read=_read_time)


class Position(NamedTuple):
    """Where a page begins: the values of the row before it, and the number of rows before it."""

    values: Sequence[object]
    skipped: int
    # Whether all rows of the page before it have the first value.
    repeats: bool


class SortKey(NamedTuple):
    """A column that rows are ordered by, and its position in them."""

    column: AnyColumn
    place: int
    kind: Kind
    descending: bool


class SortKeys:
    """The columns that a list is ordered by, the last of which is the id."""

    def __init__(self, model: str, keys: Sequence[SortKey]) -> None:
        self._keys = keys
        self.columns = [key.column for key in keys]
        self.descending = [key.descending for key in keys]
        described = [[key.column.key, key.descending, key.kind.description] for key in keys]
        self._digest = sha256(encode([model, *described]).encode()).hexdigest()[:DIGEST_LENGTH]

    def write(self, page: Sequence[Any], skipped: int) -> str | None:
        """Return the cursor of a page, with the number of rows up to its end; None if too long."""
        row, first = page[-1], self._keys[0].place
        values = [_as_json(row[key.place]) for key in self._keys]
        text = encode([self._digest, skipped, page[0][first] == row[first], *values])
        cursor = urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return cursor if len(cursor) <= MAX_CURSOR else None

    def read(self, cursor: str) -> Position:
        """Return the position of a cursor; raise InvalidFilter if it is not one of these keys."""
        try:
            parsed = parse_json(urlsafe_b64decode(cursor + PADDING).decode())
        except (ValueError, TooDeep):
            raise InvalidFilter(NO_CURSOR) from None
        match parsed:
            case [str(digest), int(skipped), bool(repeats), *values] if _is_count(skipped):
                if digest == self._digest and len(values) == len(self._keys):
                    return Position(list(map(_read, self._keys, values)), skipped, repeats)
                raise InvalidFilter(OTHER_LIST)
        raise InvalidFilter(NO_CURSOR)


class Cursors:
    """The cursors of the lists of a model."""

    def __init__(
        self,
        loaded: Hook,
        model: str,
        key: AnyColumn,
        columns: Mapping[str, AnyColumn],
        hidden: Container[str],
    ) -> None:
        """Make cursors of rows with these columns, of which `key` is the id.

        No cursor has the value of a hidden property or, if `loaded` has receivers, which may change
        values, of any property but the id.
        """
        self._loaded, self._model, self._key = loaded, model, key
        self._columns, self._hidden = columns, hidden
        self._sort_keys = lru_cache(maxsize=MAX_ORDERS)(self._find_keys)

    def within(self, fields: Container[str] | None) -> "Cursors":
        """Return the cursors of lists that show only these properties; None means all."""
        if fields is None:
            return self
        hidden = {name for name in self._columns if name in self._hidden or name not in fields}
        return Cursors(self._loaded, self._model, self._key, self._columns, hidden)

    def next_page(self, filter_: Filter, rows: Sequence[Row]) -> Mapping[str, object]:
        """Return where the page after these rows begins: the `after` or the `skip` of its filter.

        The `skip` if the client counts rows itself, and if the order has no cursors or the values
        are too long for one.
        """
        skipped = filter_.skip + len(rows)
        keys = self._usable_keys(filter_.order)
        if keys and filter_.after:
            skipped += keys.read(filter_.after).skipped
        counts = filter_.raw.get("skip", filter_.raw.get("offset")) is not None
        cursor = None if counts or keys is None else keys.write(rows, skipped)
        return {"after": cursor} if cursor else {"skip": skipped}

    def conditions(self, filter_: Filter) -> list[Condition]:
        """Return conditions one of which the rows after the filter's cursor meet, as `sql.after`.

        None without a cursor. Raises InvalidFilter.
        """
        if not filter_.after:
            return []
        keys = self._usable_keys(filter_.order)
        if keys is None:
            raise InvalidFilter(UNAVAILABLE)
        values, _, repeats = keys.read(filter_.after)
        last = list(map(sql.LastValue, keys.columns, values, keys.descending))
        return sql.after(last, repeats)

    def _usable_keys(self, order: tuple[Order, ...]) -> "SortKeys | None":
        # Receivers decide what clients see of a row, and are not asked about its order.
        if order and (self._loaded.receivers or not all(term.is_stored for term in order)):
            return None
        return self._sort_keys(order)

    def _find_keys(self, order: tuple[Order, ...]) -> "SortKeys | None":
        """Return what an order compares, with the id; None if it has no cursors."""
        by_id = next((name for name, each in self._columns.items() if each is self._key), "")
        places = {name: place for place, name in enumerate(self._columns)}
        keys = list[SortKey]()
        for term in (*order, Order(Place(by_id))):
            name = term.place.property
            kind = _kind(self._columns[name]) if name in places else None
            if kind is None or name in self._hidden:
                return None
            keys.append(SortKey(self._columns[name], places[name], kind, term.descending))
            if name == by_id:
                break
        return SortKeys(self._model, keys)


def _kind(column: AnyColumn) -> Kind | None:
    """Return the kind of a column's values in cursors; None if they are not exact there."""
    type_ = column.type
    if isinstance(type_, UtcDateTime):
        return TIME
    kind = kind_of(type_, app_id_form())
    is_rounded = kind is kinds.TIME or _is_rounded(type_)
    return None if is_rounded or kind.read is None else kind


def _is_rounded(type_: TypeEngine[Any]) -> bool:
    """Return True for numbers that are not stored as Python has them."""
    if isinstance(type_, Float):
        return isinstance(type_, REAL) or 0 < (type_.precision or 0) <= MAX_REAL
    return isinstance(type_, Numeric)


def _is_count(number: int) -> bool:
    return type(number) is int and 0 <= number <= MAX_SKIP


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.name
    return str(value) if isinstance(value, date | Decimal | UUID) else value


def _read(key: SortKey, value: object) -> object:
    if value is None and key.column.nullable:
        return None
    try:
        return key.kind.coerce("after", value)
    except InvalidFilter:
        raise InvalidFilter(NO_CURSOR) from None
