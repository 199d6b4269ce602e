"""LoopBack's filter: which rows, which of their properties, in which order, how many."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import ColumnElement

from app.errors import InvalidFilter

from .parameters import as_list
from .where import Column, Properties, find_property, text_order, translate

# Rows in one answer, by default and at most.
MAX_LIMIT = 1000
# Rows that can be skipped: what an SQL INTEGER holds.
MAX_SKIP = 2**31 - 1
KEYS = {"where", "fields", "include", "order", "limit", "skip", "offset"}


@dataclass(frozen=True)
class Filter:
    """A filter that was understood; `raw` is how it was written."""

    conditions: list[ColumnElement[bool]] = field(default_factory=list)
    order: list[ColumnElement[Any]] = field(default_factory=list)
    limit: int = MAX_LIMIT
    skip: int = 0
    # Names of the properties to answer with; None is all.
    fields: set[str] | None = None
    # Relation names and the filter for each one's rows.
    include: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Mapping[str, Any] | None, properties: Properties, key: Column) -> Self:
        """Read a filter for a model with these properties; raise InvalidFilter.

        The rows come in order of `key` when nothing else decides.
        """
        raw = raw or {}
        if unknown := raw.keys() - KEYS:
            raise InvalidFilter(
                f"A filter has no {min(unknown)!r}; it has {', '.join(sorted(KEYS))}."
            )
        where = raw.get("where")
        return cls(
            conditions=[translate(where, properties)] if where else [],
            order=[*_order(raw.get("order"), properties), key.asc()],
            limit=_whole_number("limit", raw.get("limit")) or MAX_LIMIT,
            skip=_whole_number("skip", raw.get("skip", raw.get("offset"))),
            fields=_fields(raw.get("fields"), properties),
            include=_include(raw.get("include")),
            raw=raw,
        )

    def next_page(self) -> dict[str, Any]:
        """Return the filter for the rows after this page."""
        rest = {name: value for name, value in self.raw.items() if name != "offset"}
        return {**rest, "limit": self.limit, "skip": self.skip + self.limit}


def _order(given: Any, properties: Properties) -> list[ColumnElement[Any]]:
    if not given:
        return []
    terms = [given] if isinstance(given, str) else as_list(given, "order")
    return [_order_term(term, properties) for term in terms]


def _order_term(term: Any, properties: Properties) -> ColumnElement[Any]:
    words = term.split() if isinstance(term, str) else []
    if len(words) not in (1, 2):
        raise InvalidFilter(f"The order {term!r} must be a property, with ASC or DESC after it.")
    column = find_property(words[0], properties)
    direction = words[1].upper() if len(words) == 2 else "ASC"
    if direction not in ("ASC", "DESC"):
        raise InvalidFilter(f'The order "{term}" has invalid direction')
    ordered = text_order(column)
    directed = ordered.asc() if direction == "ASC" else ordered.desc()
    if not column.nullable:
        # Said of such a column, where nulls come keeps PostgreSQL from using an index.
        return directed
    # Nothing comes before everything, on every database.
    return directed.nulls_first() if direction == "ASC" else directed.nulls_last()


def _whole_number(name: str, given: Any) -> int:
    """Return a limit or skip, 0 when it is absent; a larger limit than the largest is that."""
    if given is None:
        return 0
    number = int(given) if isinstance(given, str) and given.isascii() and given.isdigit() else given
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_SKIP:
        raise InvalidFilter(f'The {name} parameter "{given}" is not valid')
    return min(number, MAX_LIMIT) if name == "limit" else number


def _fields(given: Any, properties: Properties) -> set[str] | None:
    """Return which properties a list keeps, or an object of true (keep) or false (drop)."""
    if not given:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, dict) or "0" in given:
        given = {_text("fields", name): True for name in as_list(given, "fields")}
    for name, keep in given.items():
        find_property(name, properties)
        if keep not in (True, False, "true", "false"):
            raise InvalidFilter(f"fields.{name} must be true or false.")
    kept = {name for name, keep in given.items() if keep in (True, "true")}
    return kept or properties.keys() - given.keys()


def _include(given: Any) -> dict[str, Mapping[str, Any]]:
    """Read `"todos"`, `["todos"]`, `{"relation": "todos", "scope": {...}}` or a list of these."""
    if not given:
        return {}
    if isinstance(given, str) or (isinstance(given, dict) and "relation" in given):
        given = [given]
    if isinstance(given, dict) and "0" not in given:
        return {name: {"include": nested} for name, nested in given.items()}
    included: dict[str, Mapping[str, Any]] = {}
    for each in as_list(given, "include"):
        if isinstance(each, dict) and "relation" not in each:
            included |= _include(each)
            continue
        name, scope = (
            (each["relation"], each.get("scope")) if isinstance(each, dict) else (each, {})
        )
        if not isinstance(scope or {}, dict):
            raise InvalidFilter("include.scope must be an object.")
        included[_text("include", name)] = scope or {}
    return included


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{place} must name things by text.")
    return value
