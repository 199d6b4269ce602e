"""The query of `find`: a filter in brackets as LoopBack 3 sends it, flat, or as JSON."""

import json
from collections.abc import Mapping

from app.problems import type_name

from .errors import VariableError
from .types import JsonObject, JsonValue, Values
from .values import to_json_scalar

FILTER_STYLES = ("brackets", "flat", "json")
_CLAUSES = ("where", "limit", "skip", "offset", "order", "fields", "include", "filter")
# The limit that LoopBack 3 sends with a `skip` or `offset` without one.
_DEFAULT_LIMIT = 100


def filter_query(style: str, given: Values, named: Values) -> JsonObject:
    """Return the query for a filter object in one of the styles, and for named entries.

    In the style `brackets`, named entries are flat, and so is an object with names that are not
    those of a filter.
    """
    if "where" in named:
        given, named = {**_checked(given, "the filter"), **named}, {}
    given = _checked(given, "the filter")
    where = _checked(given.get("where") or {}, "where")
    if style == "json":
        return _json({**given, **named}, where)
    if style == "flat":
        given = {**given, "where": None, **_equalities(where)}
    elif "where" in given or given.keys() <= set(_CLAUSES):
        given = {**given, **_fields(given.get("fields")), **_page(given)}
    return {key: value for key, value in {**given, **named}.items() if value is not None}


def wanted_id(query: JsonObject, id_name: str) -> JsonValue:
    """Return the id if the filter selects one object by it: LoopBack 3 requests that by its id."""
    where = query.get("where", {})
    is_first = (query.get("limit"), query.get("offset")) == (1, 0) and "order" not in query
    found = where.get(id_name) if is_first and len(where) == 1 else None
    return None if isinstance(found, Mapping) else found


def _checked(value: object, label: str) -> Values:
    if not isinstance(value, Mapping):
        raise VariableError(f"{label} must be an object, got {type_name(value)}")
    return value


def _fields(fields: object) -> JsonObject:
    """Return `fields` as a list, as LoopBack 3 reads a name or an object."""
    if isinstance(fields, str):
        return {"fields": [fields]}
    if isinstance(fields, Mapping) and any(fields.values()):
        return {"fields": [name for name, is_wanted in fields.items() if is_wanted]}
    return {}


def _page(given: Values) -> JsonObject:
    """Return the entries of a page; LoopBack 3 sends all of them if the filter has one."""
    limit, skip = given.get("limit"), given.get("skip") or given.get("offset") or 0
    if not limit and not skip:
        return {}
    return {"limit": limit or _DEFAULT_LIMIT, "offset": skip, "skip": skip}


def _equalities(where: Values) -> Values:
    for name, value in where.items():
        if isinstance(value, Mapping | list | tuple):
            raise VariableError(
                f"a flat filter supports only equality, not the condition on '{name}'; "
                "define the resource with filter_style 'brackets' or 'json'"
            )
    return where


def _json(entries: Values, where: Values) -> JsonObject:
    conditions = {key: value for key, value in entries.items() if key not in _CLAUSES}
    clauses = {key: value for key, value in entries.items() if key in _CLAUSES[1:]}
    whole = {"where": {**where, **conditions}, **clauses}
    kept = {key: value for key, value in whole.items() if value not in (None, {})}
    return {"filter": json.dumps(kept, default=to_json_scalar)} if kept else {}
