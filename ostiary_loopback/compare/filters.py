"""The parts of a call's filter that LoopBack 3 reads differently."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from werkzeug.datastructures import MultiDict

from app.errors import InvalidFilter
from app.rest.filters.parser import order_terms
from app.rest.requests.parameters import parse_parameter

from .kinds import Row
from .orders import Order, fold

Query = Sequence[tuple[str, str]]
# Operators with which SQL databases find no rows without a value.
_NEGATED = frozenset({"neq", "nin", "nlike", "nilike"})
_COMPARES: Mapping[str, Callable[..., bool]] = {
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
    "between": lambda value, low, high: low <= value <= high,
}


def includes(query: Query, relation: str) -> bool:
    """Return True if a filter includes a relation."""
    include = _filter(query).get("include")
    return bool(re.search(rf"\b{re.escape(relation)}\b", json.dumps(include)))


def is_limited_include(query: Query, relation: str) -> bool:
    """Return True if a filter includes a relation with a limit."""
    return "limit" in _scope(query, relation)


def is_whole_page(query: Query, rows: int, is_first: bool) -> bool:
    """Return True if a filter without conditions may leave out rows before or after these."""
    given = _filter(query)
    skips = bool(given.get("skip", given.get("offset")))
    is_full = is_first or str(given.get("limit")) == str(rows)
    return not given.get("where") and (skips or is_full)


def order_of(query: Query, relation: str) -> Order | None:
    """Return the order of the rows of a call, or of an included relation; None if it is invalid."""
    given = (_scope(query, relation) if relation else _filter(query)).get("order")
    try:
        words = [str(term).split() for term in order_terms(given)]
    except InvalidFilter:
        return None
    if not all(len(each) in (1, 2) for each in words):
        return None
    return [(each[0], each[-1].upper() == "DESC" and len(each) == 2) for each in words]


def compares_letters(query: Query, rows: Sequence[Row], is_old: bool) -> bool:
    """Return True if rows match a range of texts only by letter, or only by code point if new."""
    ranges = [
        (name, word, operand if word == "between" else [operand])
        for name, condition in _conditions(query)
        for word, operand in condition.items()
        if word in _COMPARES
    ]
    return bool(rows) and all(
        any(
            _fulfils(word, row.get(name), operands) == (is_old, not is_old)
            for name, word, operands in ranges
        )
        for row in rows
    )


def _fulfils(word: str, value: object, operands: Any) -> tuple[bool, bool] | None:
    """Return whether a text matches a condition by letter, and whether by code point."""
    texts = [value, *operands] if isinstance(operands, list) else []
    if not all(isinstance(text, str) for text in texts) or len(texts) != 2 + (word == "between"):
        return None
    return _COMPARES[word](*map(fold, texts)), _COMPARES[word](*texts)


def _scope(query: Query, relation: str) -> Mapping[str, Any]:
    """Return the filter of an included relation."""
    include = _filter(query).get("include")
    for item in include if isinstance(include, list) else [include]:
        if isinstance(item, dict) and item.get("relation") == relation:
            scope = item.get("scope")
            return scope if isinstance(scope, dict) else {}
    return {}


def _conditions(query: Query) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the properties of `where` with operators."""
    where = _filter(query).get("where")
    found = where.items() if isinstance(where, dict) else ()
    return [(name, condition) for name, condition in found if isinstance(condition, dict)]


def selects_without_value(query: Query, rows: Sequence[Row]) -> bool:
    """Return True if a filter excludes values of a property that none of these rows has."""
    excluded = [name for name, condition in _conditions(query) if condition.keys() & _NEGATED]
    is_without = (any(row.get(name) is None for name in excluded) for row in rows)
    return bool(rows) and all(is_without)


def _filter(query: Query) -> Mapping[str, Any]:
    try:
        return parse_parameter("filter", MultiDict(query)) or {}
    except InvalidFilter:
        return {}
