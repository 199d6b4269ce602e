"""The functions of aggregates: their SQL, and the kind, type and JSON of their results."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.types import TypeEngine

from app.database.columns import ExactDecimal
from app.database.decimals import AVERAGE_DIGITS, ExactAverage, ExactSum, RoundedSum, SumType
from app.errors import InvalidFilter
from app.rest.filters import kinds
from app.rest.filters.columns import decimal_kind
from app.rest.filters.kinds import Kind
from app.rest.filters.sql import by_code_point
from app.rest.rows.values import Element

from .properties import COUNTS, Property


@dataclass(frozen=True)
class Function:
    """A function of a property's values, or, without a property, the number of rows."""

    # The key of the result in the answer.
    name: str
    word: str
    source: Property | None
    # The type and kind of the result.
    type: TypeEngine[Any]
    kind: Kind
    # Returns the form in JSON of a result that is not null.
    write: Callable[[Any], object]

    def sql(self, values: Element) -> Element:
        """Return the function of these values of the property, or the number of rows."""
        return func.count() if self.source is None else SQL[self.word](values)


def make_function(name: str, word: str, source: Property | None) -> Function:
    """Return a function with its result; the property must have it."""
    if source is None or word in COUNTS:
        return Function(name, word, source, sa.BigInteger(), kinds.INTEGER, int)
    type_ = source.column.type
    if word in ("min", "max"):
        return Function(name, word, source, type_, source.kind, source.write)
    if isinstance(type_, ExactDecimal):
        result = SumType(type_.scale if word == "sum" else type_.scale + AVERAGE_DIGITS)
        return Function(name, word, source, result, decimal_kind(result), "{:f}".format)
    if word == "sum" and type_.python_type is int:
        kind = replace(
            decimal_kind(SumType()), description="a whole number", schema=kinds.INTEGER.schema
        )
        return Function(name, word, source, SumType(), kind, int)
    return Function(name, word, source, sa.Double(), kinds.NUMBER, _finite)


def sum_too_large() -> InvalidFilter:
    """Return the error for a sum of numbers that no float holds."""
    return InvalidFilter("aggregate: a sum of these rows is too large for a number.")


def _finite(value: float) -> float:
    if not isfinite(value):
        raise sum_too_large()
    # The sum of -0.0 is -0.0 on PostgreSQL and 0.0 on SQLite.
    return value + 0.0


def _sum(values: Element) -> Element:
    if isinstance(values.type, ExactDecimal):
        return ExactSum(values, values.type.scale)
    return ExactSum(values) if values.type.python_type is int else _sum_of_floats(values)


def _average(values: Element) -> Element:
    if isinstance(values.type, ExactDecimal):
        return ExactAverage(values, values.type.scale)
    # PostgreSQL's avg squares floats, which may overflow, and makes decimals of integers.
    total = RoundedSum(values) if values.type.python_type is int else _sum_of_floats(values)
    return total / func.nullif(func.count(values), 0)


def _sum_of_floats(values: Element) -> Element:
    return func.sum(sa.cast(values, sa.Double()))


# The functions of values in SQL; texts are compared by code point.
SQL: dict[str, Callable[[Element], Element]] = {
    "count": func.count,
    "countDistinct": lambda values: func.count(values.distinct()),
    "sum": _sum,
    "avg": _average,
    "min": lambda values: func.min(by_code_point(values), type_=values.type),
    "max": lambda values: func.max(by_code_point(values), type_=values.type),
}
