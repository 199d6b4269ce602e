"""Functions of the values of properties: which types have which, their SQL and their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Boolean, Date, String, Uuid, func
from sqlalchemy.types import TypeEngine

from app import ids
from app.database.columns import ExactDecimal, FileReference, GeoPoint, Json, UtcDateTime
from app.database.decimals import AVERAGE_DIGITS, ExactAverage, ExactSum, RoundedSum, SumType
from app.database.ids import IdColumn
from app.database.time_units import UNITS
from app.errors import InvalidFilter

from .filters import kinds
from .filters.columns import decimal_kind
from .filters.kinds import Kind
from .filters.sql import Operand, by_code_point

COUNTS = ("count", "countDistinct")
FUNCTIONS = (*COUNTS, "sum", "avg", "min", "max")


class Uses(NamedTuple):
    """What the properties of a type are used for: functions, groups, and groups by unit of time."""

    functions: Sequence[str]
    is_grouped: bool = True
    units: Sequence[str] = ()


NUMBERS = Uses(FUNCTIONS)
# Exact sums that are properties themselves.
SUMS = Uses((*COUNTS, "sum", "min", "max"))
TEXTS = Uses((*COUNTS, "min", "max"))
TIMES = Uses(TEXTS.functions, units=tuple(UNITS))
DATES = Uses(TEXTS.functions, units=tuple(unit for unit in UNITS if unit != "hour"))
# Values without an order, or with one that differs between databases.
UNORDERED = Uses(COUNTS)
# Values that databases do not even compare, such as objects and arrays.
OPAQUE = Uses(("count",), is_grouped=False)


def uses_of(type_: TypeEngine[Any]) -> Uses:
    """Return what properties are used for, by the type of their column."""
    match type_:
        case IdColumn():
            return UNORDERED if type_.form.name == ids.UUID.name else TEXTS
        case Boolean() | Uuid():
            return UNORDERED
        case FileReference() | GeoPoint() | Json():
            return OPAQUE
        case UtcDateTime():
            return TIMES
        case Date():
            return DATES
        case String():
            return TEXTS
        case SumType():
            return SUMS
    is_number = isinstance(type_, ExactDecimal) or type_.python_type in (int, float)
    return NUMBERS if is_number else OPAQUE


@dataclass(frozen=True)
class Result:
    """The values of a property or a function: their type, their kind and their JSON."""

    type: TypeEngine[Any]
    kind: Kind
    # Returns the form in JSON of a value that is not null.
    write: Callable[[Any], object]


COUNT = Result(sa.BigInteger(), kinds.INTEGER, int)


def result_of(word: str, values: Result) -> Result:
    """Return the result of a function of values whose type has it."""
    if word in COUNTS:
        return COUNT
    type_ = values.type
    if word in ("min", "max") or isinstance(type_, SumType):
        return values
    if isinstance(type_, ExactDecimal):
        result = SumType(type_.scale if word == "sum" else type_.scale + AVERAGE_DIGITS)
        return Result(result, decimal_kind(result), "{:f}".format)
    if word == "sum" and type_.python_type is int:
        kind = replace(
            decimal_kind(SumType()), description="a whole number", schema=kinds.INTEGER.schema
        )
        return Result(SumType(), kind, int)
    return Result(sa.Double(), kinds.NUMBER, _finite)


def sum_too_large() -> InvalidFilter:
    """Return the error for a sum of numbers that no float holds."""
    return InvalidFilter("aggregate: a sum of these rows is too large for a number.")


def _finite(value: float) -> float:
    if not isfinite(value):
        raise sum_too_large()
    # The sum of -0.0 is -0.0 on PostgreSQL and 0.0 on SQLite.
    return value + 0.0


def _sum(values: Operand) -> Operand:
    if isinstance(values.type, ExactDecimal | SumType):
        return ExactSum(values, values.type.scale)
    return ExactSum(values) if values.type.python_type is int else _sum_of_floats(values)


def _average(values: Operand) -> Operand:
    if isinstance(values.type, ExactDecimal):
        return ExactAverage(values, values.type.scale)
    # PostgreSQL's avg squares floats, which may overflow, and makes decimals of integers.
    total = RoundedSum(values) if values.type.python_type is int else _sum_of_floats(values)
    return total / func.nullif(func.count(values), 0)


def _sum_of_floats(values: Operand) -> Operand:
    return func.sum(sa.cast(values, sa.Double()))


# The functions of values in SQL; texts are compared by code point.
SQL: dict[str, Callable[[Operand], Operand]] = {
    "count": func.count,
    "countDistinct": lambda values: func.count(values.distinct()),
    "sum": _sum,
    "avg": _average,
    "min": lambda values: func.min(by_code_point(values), type_=values.type),
    "max": lambda values: func.max(by_code_point(values), type_=values.type),
}
