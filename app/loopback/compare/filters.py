"""What the filter of a call asks for, where LoopBack 3 reads it otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any

from werkzeug.datastructures import MultiDict

from app.errors import InvalidFilter
from app.rest.requests.parameters import parse_parameter

Query = Sequence[tuple[str, str]]
# With these, databases of SQL find no rows without a value.
_NEGATED = frozenset({"neq", "nin", "nlike", "nilike"})


def is_limited_include(query: Query, relation: str) -> bool:
    """Tell whether a filter includes a relation with a limit."""
    include = _filter(query).get("include")
    for item in include if isinstance(include, list) else [include]:
        if isinstance(item, dict) and item.get("relation") == relation:
            scope = item.get("scope")
            return isinstance(scope, dict) and "limit" in scope
    return False


def selects_without_value(query: Query, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a filter excludes values of a property, and all these rows have none there."""
    where = _filter(query).get("where")
    excluded = [
        name
        for name, condition in (where.items() if isinstance(where, dict) else ())
        if isinstance(condition, dict) and condition.keys() & _NEGATED
    ]
    is_without = (any(row.get(name) is None for name in excluded) for row in rows)
    return bool(rows) and all(is_without)


def _filter(query: Query) -> Mapping[str, Any]:
    try:
        return parse_parameter("filter", MultiDict(query)) or {}
    except InvalidFilter:
        return {}
