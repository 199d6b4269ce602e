"""The query of `find`: a filter in brackets as LoopBack 3 sends it, flat, or as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from app.connector.errors import VariableError
from app.connector.values import to_json_scalar
from app.problems import type_name

FILTER_STYLES = ("brackets", "flat", "json")
_CLAUSES = frozenset({"where", "limit", "skip", "offset", "order", "fields", "include", "filter"})
# The limit that LoopBack 3 sends with a `skip` or `offset` without one.
_DEFAULT_LIMIT = 100


def filter_query(style: str, given: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query for a filter object in one of the styles, and for named entries.

    In the style `brackets` named entries are flat, and so is an object that has other names than
    those of a filter.
    """
    if "where" in named:
        given, named = {**given, **named}, {}
    _check(given, "the filter")
    where = given.get("where") or {}
    _check(where, "where")
    if style == "json":
        return _json({**given, **named}, where)
    if style == "flat":
        query = {**given, "where": None, **_equalities(where), **named}
    elif "where" in given or given.keys() <= _CLAUSES:
        query = {**_paged(given), **named}
    else:
        query = {**given, **named}
    return {key: value for key, value in query.items() if value is not None}


def wanted_id(query: Mapping[str, Any], id_name: str) -> Any:
    """Return the id if the first object with an id is asked for, which LoopBack 3 gets by it."""
    where = query.get("where", {})
    is_first = (query.get("limit"), query.get("offset")) == (1, 0) and "order" not in query
    found = where.get(id_name) if is_first and len(where) == 1 else None
    return None if isinstance(found, Mapping) else found


def _check(value: Any, label: str) -> None:
    if not isinstance(value, Mapping):
        raise VariableError(f"{label} must be an object, got {type_name(value)}")


def _paged(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter as the query that LoopBack 3 makes of it."""
    query = dict(given)
    fields = query.get("fields")
    if isinstance(fields, str):
        query["fields"] = [fields]
    elif isinstance(fields, Mapping) and any(fields.values()):
        query["fields"] = [name for name, is_wanted in fields.items() if is_wanted]
    if query.get("limit") or query.get("skip") or query.get("offset"):
        skip = query.get("skip") or query.get("offset") or 0
        query |= {"limit": query.get("limit") or _DEFAULT_LIMIT, "offset": skip, "skip": skip}
    return query


def _equalities(where: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in where.items():
        if isinstance(value, Mapping | list | tuple):
            raise VariableError(
                f"a flat filter supports only equality, not the condition on '{name}'; "
                "define the resource with filter_style 'brackets' or 'json'"
            )
    return where


def _json(entries: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    conditions = {key: value for key, value in entries.items() if key not in _CLAUSES}
    clauses = {key: value for key, value in entries.items() if key in _CLAUSES - {"where"}}
    whole = {"where": {**where, **conditions}, **clauses}
    kept = {key: value for key, value in whole.items() if value not in (None, {})}
    return {"filter": json.dumps(kept, default=to_json_scalar)} if kept else {}
