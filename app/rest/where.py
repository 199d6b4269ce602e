"""Translate a `where` of LoopBack's filter language into SQL conditions with bound values.

Both databases select the same rows: text compares by code point, `like` is case-sensitive, `ilike`
ignores the case of A to Z, and null differs from every value.
"""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, String, and_, collate, false, func, literal, or_, true

from app.errors import InvalidFilter, quote
from app.extensions import db

from .parameters import as_list
from .patterns import ESCAPE, complete_pattern, matches_on_sqlite

Column = sqlalchemy.Column[Any]
Properties = Mapping[str, Column]
# Returns the condition, given the path for errors, the column and the operand.
Operator = Callable[[str, Column, Any], ColumnElement[bool]]

# The values of a 64-bit signed integer column.
INT64 = range(-(2**63), 2**63)
INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def translate(where: Any, properties: Properties) -> ColumnElement[bool]:
    """Return the condition of a `where`; raise InvalidFilter, which names the invalid part."""
    return _where(where, properties)


def is_text(column: Column) -> bool:
    """Tell whether a column holds text."""
    return isinstance(column.type, String)


def text_order(column: Column) -> ColumnElement[Any]:
    """Return a column that sorts and compares by code point, which SQLite does by itself."""
    if is_text(column) and db.engine.dialect.name != "sqlite":
        return collate(column, "C")
    return column.expression


def find_property(name: str, properties: Properties) -> Column:
    """Return the column of a property; raise InvalidFilter."""
    if name not in properties:
        raise InvalidFilter(
            f"There is no property '{quote(name)}'; there are {', '.join(properties)}."
        )
    return properties[name]


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
    column = find_property(name, properties)
    if not isinstance(value, dict):
        value = {"eq": value}
    return _and([_apply(name, column, *each) for each in value.items()])


def _apply(name: str, column: Column, word: str, value: Any) -> ColumnElement[bool]:
    if word not in OPERATORS:
        known = ", ".join(OPERATORS)
        raise InvalidFilter(f"{name} has no operator '{quote(word)}'; there are {known}.")
    return OPERATORS[word](f"{name}.{word}", column, value)


def _equal(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    value = coerce(path, column, value)
    return column.is_(None) if value is None else column == value


def _unequal(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    return column.is_distinct_from(coerce(path, column, value))


def _compare(relation: Callable[[Any, Any], Any]) -> Operator:
    def compare(path: str, column: Column, value: Any) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = relation(text_order(column), _present(path, column, value))
        return condition

    return compare


def _between(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    ends = as_list(value, path)
    if len(ends) != 2:
        raise InvalidFilter(f"{path} must be a list of two.")
    low, high = (_present(path, column, end) for end in ends)
    ordered = text_order(column)
    return and_(ordered >= low, ordered <= high)


def _any_of(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    values = [coerce(path, column, each) for each in as_list(value, path)]
    found = column.in_([each for each in values if each is not None])
    return found | column.is_(None) if None in values else found


def _none_of(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    return _any_of(path, column, value).is_not(true())


def _like(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    return _matches(column, _pattern(path, column, value))


def _ilike(path: str, column: Column, value: Any) -> ColumnElement[bool]:
    pattern = _pattern(path, column, value).encode()
    folded = re.sub(rb"[A-Z]+", lambda match: match[0].lower(), pattern).decode()
    return _matches(func.lower(text_order(column)), folded)


def _matches(text: ColumnElement[str], pattern: str) -> ColumnElement[bool]:
    if db.engine.dialect.name == "sqlite":
        return matches_on_sqlite(text, pattern)
    return text.like(pattern, escape=ESCAPE)


def _not(like: Operator) -> Operator:
    def unlike(path: str, column: Column, value: Any) -> ColumnElement[bool]:
        return like(path, column, value).is_not(true())

    return unlike


OPERATORS: dict[str, Operator] = {
    "eq": _equal,
    "neq": _unequal,
    "gt": _compare(operator.gt),
    "gte": _compare(operator.ge),
    "lt": _compare(operator.lt),
    "lte": _compare(operator.le),
    "between": _between,
    "inq": _any_of,
    "nin": _none_of,
    "like": _like,
    "nlike": _not(_like),
    "ilike": _ilike,
    "nilike": _not(_ilike),
}


def coerce(path: str, column: Column, value: Any) -> Any:
    """Return a value as the column's type, null as the value stored for it; raise InvalidFilter."""
    if value is None:
        return column.info.get("null")
    kind = column.type.python_type
    if kind not in COERCIONS:
        raise InvalidFilter(f"{path} cannot be: that property is not for filters.")
    try:
        return COERCIONS[kind](value)
    except (ValueError, OverflowError):
        raise InvalidFilter(f"{path} must be {TYPE_NAMES[kind]}.") from None


def _present(path: str, column: Column, value: Any) -> ColumnElement[Any]:
    """Return a value as a bound parameter; by itself SQLAlchemy renders booleans inline."""
    if value is None:
        raise InvalidFilter(f"{path} must not be null.")
    return literal(coerce(path, column, value), column.type)


def _pattern(path: str, column: Column, value: Any) -> str:
    """Return the pattern for a text column; raise InvalidFilter."""
    if column.type.python_type is not str or not isinstance(value, str):
        raise InvalidFilter(f"{path} must compare text with a text.")
    return complete_pattern(value)


def _as_integer(value: Any) -> int:
    if isinstance(value, str) and INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in INT64:
        raise ValueError
    return value


def _as_number(value: Any) -> float:
    number = float(value) if isinstance(value, str | int) else value
    if isinstance(value, bool) or not isinstance(number, float) or not isfinite(number):
        raise ValueError
    return number


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _as_boolean(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value)
    if not isinstance(value, bool):
        raise ValueError
    return value


def _as_datetime(value: Any) -> datetime:
    time = datetime.fromisoformat(_as_text(value))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


COERCIONS: dict[type, Callable[[Any], Any]] = {
    int: _as_integer,
    float: _as_number,
    str: _as_text,
    bool: _as_boolean,
    datetime: _as_datetime,
}
TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    datetime: "a time like 2026-01-02T03:04:05.678Z",
}
