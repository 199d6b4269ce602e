"""Comparing JSON values: field by field, and rows by their ids."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .calls import shape, shape_key
from .kinds import (
    ADDED,
    ADDED_ROW,
    DATE,
    EMAIL,
    KEY_ORDER,
    MISSING,
    MISSING_ROW,
    NULL,
    ROW_ORDER,
    TYPE,
    VALUE,
    Difference,
    Kind,
    Row,
)

# Maximum levels of objects and lists; an answer with more is compared as text.
MAX_DEPTH = 32
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Values:
    """Compares values; `id_names` are properties with ids, by which rows of lists are matched."""

    id_names: Sequence[str]

    def compare(self, old: object, new: object, place: str, depth: int = 0) -> Iterator[Difference]:
        """Yield the differences of two values at the same `place`."""
        if isinstance(old, dict) and isinstance(new, dict) and depth < MAX_DEPTH:
            yield from self._objects(old, new, place, depth)
        elif isinstance(old, list) and isinstance(new, list) and depth < MAX_DEPTH:
            yield from self._lists(old, new, place, depth)
        elif json_type(old) != json_type(new):
            rows = rows_of(old), listed_rows(new)
            yield Difference(TYPE, place, shape(old), shape(new), *rows)
        elif old != new:
            yield Difference(_value_kind(old, new, place), place, shape(old), shape(new))

    def _objects(
        self, old: Mapping[str, Any], new: Mapping[str, Any], place: str, depth: int
    ) -> Iterator[Difference]:
        common = [name for name in old if name in new]
        if common != [name for name in new if name in old]:
            shown = ", ".join(map(shape_key, common[:3]))
            yield Difference(KEY_ORDER, place, shown, "another order")
        for name in common:
            yield from self.compare(old[name], new[name], _join(place, name), depth + 1)
        for name in old.keys() - new.keys():
            kind, rows = NULL if old[name] is None else MISSING, rows_of(old[name])
            yield Difference(kind, _join(place, name), shape(old[name]), "missing", rows)
        for name in new.keys() - old.keys():
            kind = NULL if new[name] is None else ADDED
            yield Difference(kind, _join(place, name), "missing", shape(new[name]))

    def _lists(
        self, old: Sequence[Any], new: Sequence[Any], place: str, depth: int
    ) -> Iterator[Difference]:
        """Compare lists: rows by their ids, other items by their positions."""
        inside = f"{place}[]"
        for name in self.id_names:
            before, after = _by_id(old, name), _by_id(new, name)
            if before is not None and after is not None:
                yield from _rows(before, after, inside)
                for key in filter(after.__contains__, before):
                    yield from self.compare(before[key], after[key], inside, depth + 1)
                return
        for left, right in zip(old, new, strict=False):
            yield from self.compare(left, right, inside, depth + 1)
        if len(old) != len(new):
            kind = MISSING_ROW if len(old) > len(new) else ADDED_ROW
            yield Difference(kind, inside, f"{len(old)} items", f"{len(new)} items")


def rows_of(value: object) -> list[Row]:
    """Return a value that may be a row, in a list."""
    return [value] if isinstance(value, dict) else []


def listed_rows(value: object) -> list[Row]:
    """Return the rows of a list, or a single row in a list."""
    return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]


def _value_kind(old: object, new: object, place: str) -> Kind:
    if _are_same_moment(old, new):
        return DATE
    is_email = place.rpartition(".")[2] == "email"
    return EMAIL if is_email and isinstance(old, str) and old.lower() == new else VALUE


def _join(place: str, name: str) -> str:
    return f"{place}.{shape_key(name)}" if place else shape_key(name)


def _by_id(items: Sequence[Any], name: str) -> dict[str, Any] | None:
    """Return rows by their ids as text, or None if these are not rows with different ids."""
    rows = {str(item[name]): item for item in items if isinstance(item, dict) and name in item}
    return rows if len(rows) == len(items) else None


def _rows(old: Mapping[str, Any], new: Mapping[str, Any], place: str) -> Iterator[Difference]:
    counts = f"{len(old)} rows", f"{len(new)} rows"
    missing = [old[key] for key in old if key not in new]
    added = [new[key] for key in new if key not in old]
    common = [key for key in old if key in new], [key for key in new if key in old]
    if missing:
        yield Difference(MISSING_ROW, place, *counts, missing, added)
    if added:
        yield Difference(ADDED_ROW, place, *counts, missing, added)
    if common[0] != common[1]:
        rows = [old[key] for key in common[0]], [new[key] for key in common[1]]
        yield Difference(ROW_ORDER, place, *counts, *rows)


def json_type(value: object) -> str:
    """Return the JSON type of a value; 1 and 1.0 are both numbers."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _are_same_moment(old: object, new: object) -> bool:
    moments = [_moment(value) for value in (old, new)]
    return None not in moments and moments[0] == moments[1]


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > 40 or not _DATE.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
