"""Translate a `where` of LoopBack's filter language into SQL conditions with bound values."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_, true

from app.columns import Position
from app.errors import InvalidFilter, quote

from .distances import KEYS as NEAR_KEYS
from .distances import parse_near
from .json_paths import is_json
from .operators import IGNORING_CASE, OPERATORS, operators_for
from .parameters import as_list
from .targets import Properties, column_target, find_place, find_property, path_target

# Operands of one filter that are compared with what JSON columns hold: each is a look into the JSON
# of every row.
MAX_IN_JSON = 20
# Conditions of one filter on arrays: each goes through the items of every row.
MAX_ARRAYS = 2


def translate(where: Any, properties: Properties) -> ColumnElement[bool]:
    """Return the condition of a `where`; raise InvalidFilter, which names the invalid part."""
    condition = _where(where, properties)
    operands, arrays = _count_in_json(where, properties)
    if operands > MAX_IN_JSON:
        raise InvalidFilter(
            f"A filter compares at most {MAX_IN_JSON} values with objects, arrays and positions."
        )
    if arrays > MAX_ARRAYS:
        raise InvalidFilter(
            f"A filter has at most {MAX_ARRAYS} conditions on arrays; inq compares several values."
        )
    return condition


def nearest_first(where: Any, properties: Properties) -> list[ColumnElement[Any]]:
    """Return what to order by, if a valid `where` has `near`: LoopBack 3's order then."""
    conditions = where.items() if isinstance(where, dict) else ()
    return [
        parse_near(name, find_property(name, properties), value).order
        for name, value in conditions
        if isinstance(value, dict) and "near" in value
    ]


def _count_in_json(where: Any, properties: Properties) -> tuple[int, int]:
    """Return how many operands a valid `where` compares with what JSON columns hold.

    The second figure is how many conditions on arrays there are.
    """
    count, arrays = 0, 0
    for name, value in where.items():
        if name in ("and", "or"):
            inner = [_count_in_json(each, properties) for each in as_list(value, name)]
            count += sum(each[0] for each in inner)
            arrays += sum(each[1] for each in inner)
        elif is_json(column := find_place(name, properties)[0]):
            operands = list(value.values()) if isinstance(value, dict) else [value]
            count += sum(len(each) if isinstance(each, list) else 1 for each in operands)
            arrays += len(operands) if column.type.python_type is list else 0
    return count, arrays


def _where(where: Any, properties: Properties) -> ColumnElement[bool]:
    if not isinstance(where, dict):
        raise InvalidFilter("where must be an object.")
    return _and([_property_condition(name, value, properties) for name, value in where.items()])


def _and(conditions: list[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return the conjunction of the conditions; a single one is returned as it is."""
    return conditions[0] if len(conditions) == 1 else and_(true(), *conditions)


def _property_condition(name: str, value: Any, properties: Properties) -> ColumnElement[bool]:
    if name in ("and", "or"):
        clauses = [_where(each, properties) for each in as_list(value, name)]
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
