"""Operands of conditions: values of JSON or of the query string, as the type of a column."""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from sqlalchemy import Enum
from sqlalchemy.types import TypeEngine

from app.database.columns import ExactDecimal
from app.database.ids import IdColumn
from app.errors import InvalidFilter
from app.ids import Id, IdForm
from app.rest.fields.base import parse_decimal, parse_uuid
from app.rest.fields.times import parse_date, parse_time

# The values of a 64-bit signed integer column.
INT64 = range(-(2**63), 2**63)
INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def coerce(path: str, type_: TypeEngine[Any], value: Any) -> Any:
    """Return a value that is not null as the type; raise InvalidFilter."""
    kind = type_.python_type
    if isinstance(type_, IdColumn) and kind is str:
        return _as_id(path, type_.form, value)
    if kind not in COERCIONS:
        raise InvalidFilter(f"{path} cannot be: that property is not for such a condition.")
    try:
        operand = COERCIONS[kind](value)
    except (ValueError, OverflowError):
        raise InvalidFilter(f"{path} must be {TYPE_NAMES[kind]}.") from None
    if isinstance(type_, ExactDecimal):
        return _exact(path, type_, operand)
    if isinstance(type_, Enum) and operand not in type_.enums:
        raise InvalidFilter(f"{path} must be one of {', '.join(type_.enums)}.")
    return operand


def _as_id(path: str, form: IdForm, value: Any) -> Id:
    id = form.parse_json(value)
    if id is None:
        raise InvalidFilter(f"{path} must be {form.description}.")
    return id


def _exact(path: str, type_: ExactDecimal, operand: Decimal) -> Decimal:
    try:
        return type_.exact(operand)
    except ValueError as error:
        raise InvalidFilter(f"{path} {error}.") from None


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


COERCIONS: dict[type, Callable[[Any], Any]] = {
    int: _as_integer,
    float: _as_number,
    str: _as_text,
    bool: _as_boolean,
    datetime: parse_time,
    date: parse_date,
    Decimal: parse_decimal,
    UUID: parse_uuid,
}
TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    datetime: "a time like 2026-01-02T03:04:05.678Z",
    date: "a date like 2026-01-02",
    Decimal: 'a decimal like "12.50"',
    UUID: "a UUID",
}
