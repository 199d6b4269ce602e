"""Parse filters in LoopBack 3's form: conditions, properties, order, limit and includes."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import ColumnElement

from app.database.columns import Position
from app.errors import InvalidFilter, quote
from app.rest.requests.parameters import as_list

from .bounds import check_size
from .json_cost import JsonCost
from .json_paths import is_json
from .targets import Column, Properties, find_place, find_property, is_text, text_order
from .where import json_cost_of, nearest_first, translate

#: Rows of a list: the default and the maximum.
MAX_LIMIT = 1000
#: Properties to order by.
MAX_ORDER = 20
#: Rows to skip: the maximum of a 32-bit SQL INTEGER.
MAX_SKIP = 2**31 - 1
DIGITS = re.compile(r"[0-9]{1,10}", re.ASCII)
KEYS = {"where", "fields", "include", "order", "limit", "skip", "offset"}


@dataclass(frozen=True)
class Filter:
    """A parsed filter; `raw` is the client's form."""

    conditions: list[ColumnElement[bool]] = field(default_factory=list)
    order: list[ColumnElement[Any]] = field(default_factory=list)
    limit: int = MAX_LIMIT
    skip: int = 0
    # Names of the properties to return; None means all.
    fields: set[str] | None = None
    # The filter for the rows of each included relation, by its name.
    include: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    # Long properties that includes read, although `fields` leaves them out.
    kept: Collection[str] = ()
    # How much of it reads JSON, without its includes.
    json_cost: JsonCost = field(default_factory=JsonCost)

    @classmethod
    def parse(cls, raw: Mapping[str, Any] | None, properties: Properties) -> Self:
        """Parse a filter for a model with these properties; raise InvalidFilter."""
        raw = raw or {}
        check_size(raw)
        if unknown := raw.keys() - KEYS:
            raise InvalidFilter(
                f"A filter has no '{quote(min(unknown))}'; it has {', '.join(sorted(KEYS))}."
            )
        where = raw.get("where")
        conditions = [translate(where, properties)] if where else []
        order, paths = _order(raw.get("order"), properties)
        cost = json_cost_of(where or {}, properties) + JsonCost(orders=paths)
        cost.check()
        return cls(
            conditions=conditions,
            order=order or nearest_first(where, properties),
            limit=_integer("limit", raw.get("limit")) or MAX_LIMIT,
            skip=_integer("skip", raw.get("skip", raw.get("offset"))),
            fields=_fields(raw.get("fields"), properties),
            include=_include(raw.get("include")),
            raw=raw,
            json_cost=cost,
        )

    def leaves_out(self, name: str, column: Column) -> bool:
        """Tell whether `fields` leaves out a long property; others are kept, for includes."""
        is_long = is_text(column) or is_json(column)
        return self.fields is not None and name not in {*self.fields, *self.kept} and is_long

    @property
    def has_limit(self) -> bool:
        """Whether the client set a limit."""
        return bool(self.raw.get("limit"))

    def next_page(self, count: int) -> dict[str, Any]:
        """Return the filter for the rows after these."""
        rest = {name: value for name, value in self.raw.items() if name != "offset"}
        return {**rest, "skip": self.skip + count}


def _order(given: Any, properties: Properties) -> tuple[list[ColumnElement[Any]], int]:
    """Return what to order by, and how many paths are in it."""
    if not given:
        return [], 0
    terms = [given] if isinstance(given, str) else as_list(given, "order")
    if len(terms) > MAX_ORDER:
        raise InvalidFilter(f"order must not have more than {MAX_ORDER} properties.")
    # If a property is named twice, the first one counts.
    ordered: dict[str, list[ColumnElement[Any]]] = {}
    for term in terms:
        name, directed = _order_term(term, properties)
        ordered.setdefault(name, directed)
    values = [each for directed in ordered.values() for each in directed]
    return values, sum("." in name for name in ordered)


def _order_term(term: Any, properties: Properties) -> tuple[str, list[ColumnElement[Any]]]:
    """Return the name of the property or path, and what to order by."""
    words = term.split(maxsplit=2) if isinstance(term, str) else []
    if len(words) not in (1, 2):
        raise InvalidFilter(
            f"The order '{quote(term)}' must be a property, with ASC or DESC after it."
        )
    values, nullable = _order_values(words[0], properties)
    direction = words[1].upper() if len(words) == 2 else "ASC"
    if direction not in ("ASC", "DESC"):
        raise InvalidFilter(f'The order "{quote(term)}" has invalid direction')
    directed: list[ColumnElement[Any]]
    directed = [each.asc() if direction == "ASC" else each.desc() for each in values]
    if not nullable:
        # NULLS FIRST on a NOT NULL column would keep PostgreSQL from using an index.
        return words[0], directed
    # NULLs sort first, on every database.
    return words[0], [
        each.nulls_first() if direction == "ASC" else each.nulls_last() for each in directed
    ]


def _order_values(name: str, properties: Properties) -> tuple[list[ColumnElement[Any]], bool]:
    """Return what to compare for a property or path, and whether it may be NULL."""
    column, path = find_place(name, properties)
    if path is not None:
        # Numbers sort before text: one of the two is NULL.
        return [text_order(path.as_type(str)), path.as_type(float)], True
    if column.type.python_type in (dict, list, Position):
        raise InvalidFilter(f"order: {quote(name)} has no order; name a path in it, or use near.")
    return [text_order(column.expression)], bool(column.nullable)


def _integer(name: str, given: Any) -> int:
    """Return a limit or skip, 0 if it is absent; a limit above MAX_LIMIT is reduced to it."""
    if given is None:
        return 0
    number = int(given) if isinstance(given, str) and DIGITS.fullmatch(given) else given
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_SKIP:
        raise InvalidFilter(f'The {name} parameter "{quote(given)}" is not valid')
    return min(number, MAX_LIMIT) if name == "limit" else number


def _fields(given: Any, properties: Properties) -> set[str] | None:
    """Return the properties that a list names, or that an object maps to true or not to false."""
    if not given:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, dict) or "0" in given:
        given = {_text("fields", name): True for name in as_list(given, "fields")}
    for name, keep in given.items():
        find_property(name, properties)
        if keep not in (True, False, "true", "false"):
            raise InvalidFilter(f"fields.{quote(name)} must be true or false.")
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


def _text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{path} must name things by text.")
    return value
