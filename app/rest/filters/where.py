"""Translate a `where` of LoopBack's filter language into SQL conditions with bound values."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_, true

from app.database.columns import Position
from app.errors import InvalidFilter, quote
from app.rest.requests.parameters import as_list

from .distances import KEYS as NEAR_KEYS
from .distances import parse_near
from .json_cost import JsonCost
from .json_paths import is_json
from .operators import IGNORING_CASE, OPERATORS, operators_for
from .targets import Properties, column_target, find_place, find_property, path_target


def nearest_first(where: Any, properties: Properties) -> list[ColumnElement[Any]]:
    """Return what to order by, if a valid `where` has `near`: LoopBack 3's order then."""
    conditions = where.items() if isinstance(where, dict) else ()
    return [
        parse_near(name, find_property(name, properties), value).order
        for name, value in conditions
        if isinstance(value, dict) and "near" in value
    ]


def json_cost_of(where: Any, properties: Properties) -> JsonCost:
    """Return how much of a valid `where` reads JSON."""
    cost = JsonCost()
    for name, value in where.items():
        if name in ("and", "or"):
            for each in as_list(value, name):
                cost += json_cost_of(each, properties)
        elif is_json(column := find_place(name, properties)[0]):
            operands = list(value.values()) if isinstance(value, dict) else [value]
            count = sum(len(each) if isinstance(each, list) else 1 for each in operands)
            is_array = column.type.python_type is list
            cost += JsonCost(count, len(operands) if is_array else 0)
    return cost


def translate(where: Any, properties: Properties) -> ColumnElement[bool]:
    """Return the condition of a `where`; raise InvalidFilter, which names the invalid part."""
    if not isinstance(where, dict):
        raise InvalidFilter("where must be an object.")
    return _and([_property_condition(name, value, properties) for name, value in where.items()])


def _and(conditions: list[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return the conjunction of the conditions; a single one is returned as it is."""
    return conditions[0] if len(conditions) == 1 else and_(true(), *conditions)


def _property_condition(name: str, value: Any, properties: Properties) -> ColumnElement[bool]:
    if name in ("and", "or"):
        clauses = [translate(each, properties) for each in as_list(value, name)]
        return _and(clauses) if name == "and" else or_(false(), *clauses)
    conditions = value if isinstance(value, dict) else {"eq": value}
    if "near" in conditions:
        return _near(name, conditions, properties)
    if "options" in conditions:
        conditions = _without_case(name, conditions)
    return _and([_apply(name, properties, *each) for each in conditions.items()])


def _near(name: str, given: Mapping[str, Any], properties: Properties) -> ColumnElement[bool]:
    column = find_property(name, properties)
    if column.type.python_type is not Position:
        raise InvalidFilter(f"{name}.near is for positions.")
    others = {word: each for word, each in given.items() if word not in NEAR_KEYS}
    further = [_apply(name, properties, *each) for each in others.items()]
    return _and([parse_near(name, column, given).condition, *further])


def _without_case(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions with `options: "i"` as those that ignore the case."""
    others = {word: each for word, each in given.items() if word != "options"}
    if given["options"] != "i" or not others.keys() <= IGNORING_CASE.keys():
        raise InvalidFilter(
            f'{name}.options must be "i", beside {", ".join(IGNORING_CASE)} and nothing else.'
        )
    return {IGNORING_CASE[word]: each for word, each in others.items()}


def _apply(name: str, properties: Properties, word: str, value: Any) -> ColumnElement[bool]:
    column, path = find_place(name, properties)
    known = operators_for(column) if path is None else OPERATORS
    if word not in known:
        raise InvalidFilter(
            f"{name} has no operator '{quote(word)}'; there are {', '.join(known)}."
        )
    target = column_target(column) if path is None else path_target(path, value)
    return known[word](f"{name}.{word}", target, value)
