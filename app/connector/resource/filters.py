"""Encoding the filter of `find` as a query: flat, in brackets, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.connector.errors import VariableError
from app.connector.values import to_json_scalar

FILTER_STYLES = ("flat", "brackets", "json")
_CLAUSES = frozenset({"where", "limit", "skip", "offset", "order", "fields", "include"})


def filter_query(style: str, given: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query for a filter object and named conditions in one of the styles."""
    entries = {**given, **named}
    clauses = {key: value for key, value in entries.items() if key in _CLAUSES}
    where = {key: value for key, value in entries.items() if key not in _CLAUSES}
    where = {**(clauses.pop("where", None) or {}), **where}
    if style == "flat":
        return {**clauses, **_equalities(where)}
    whole = {"where": where, **clauses} if where else clauses
    if style == "brackets":
        return whole
    return {"filter": json.dumps(whole, default=to_json_scalar)} if whole else {}


def _equalities(where: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in where.items():
        if isinstance(value, Mapping | list | tuple):
            raise VariableError(
                f"a flat filter supports only equality, not the condition on '{name}'; "
                "define the resource with filter_style 'brackets' or 'json'"
            )
    return dict(where)
