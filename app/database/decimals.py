"""Exact decimals: checking them, and their sums and averages in SQL.

SQLite stores decimals as integers. Its sums of large integers would overflow, and its averages are
floats.
"""

import sqlite3
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from .dialects import has_decimals

# Digits of an average of decimals after the point, in addition to those of the decimals.
AVERAGE_DIGITS = 4
# Digits of a sum: enough for a billion 64-bit integers.
SUM_DIGITS = 28
# SQLite's sums are hexadecimal texts of this length, of the sum in units of its last digit and an
# offset that makes it positive, so that texts sort as the sums do.
HEX_DIGITS, OFFSET = 24, 2**94
# Digits of an average on PostgreSQL that are rounded off.
GUARD_DIGITS = 14
LOW = 2**32 - 1


def exact(value: Decimal, whole_digits: int, scale: int) -> Decimal:
    """Return a decimal with `scale` digits after the point.

    Raises ValueError if it has more, or more than `whole_digits` before the point.
    """
    if not value.is_finite():
        raise ValueError("is not a number")
    if value and value.adjusted() >= whole_digits:
        raise ValueError(f"has more than {whole_digits} digits before the point")
    rounded = value.quantize(Decimal(1).scaleb(-scale))
    if rounded != value:
        raise ValueError(f"has more than {scale} decimals")
    return rounded


class SumType(TypeDecorator[Decimal]):
    """The type of an exact sum or average with `scale` digits after the point."""

    impl = sa.Numeric
    cache_ok = True

    def __init__(self, scale: int = 0) -> None:
        super().__init__()
        self.scale = scale

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of the database."""
        return dialect.type_descriptor(sa.Numeric() if has_decimals(dialect) else sa.String())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> object:
        """Return the value to compare sums with."""
        if value is None or has_decimals(dialect):
            return value
        return _encode(int(value.scaleb(self.scale)))

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """Return the decimal with `scale` digits after the point."""
        if value is None:
            return None
        if has_decimals(dialect):
            return Decimal(value)
        return Decimal(int(value, 16) - OFFSET).scaleb(-self.scale)

    def exact(self, value: Decimal) -> Decimal:
        """Return the value with `scale` digits after the point; raise ValueError for more."""
        return exact(value, SUM_DIGITS - self.scale, self.scale)


def _encode(units: int) -> str:
    return f"{units + OFFSET:0{HEX_DIGITS}x}"


class ExactSum(FunctionElement[Decimal]):
    """The sum of integers, or of decimals or sums with `scale` digits after the point."""

    inherit_cache = True

    def __init__(self, values: ColumnElement[Any], scale: int = 0) -> None:
        super().__init__(values)
        self.type = SumType(scale)
        self.is_of_sums = isinstance(values.type, SumType)


class ExactAverage(FunctionElement[Decimal]):
    """The average of decimals with `scale` digits after the point, rounded half away from zero."""

    inherit_cache = True
    type: SumType

    def __init__(self, values: ColumnElement[Any], scale: int) -> None:
        super().__init__(values)
        self.type = SumType(scale + AVERAGE_DIGITS)


class RoundedSum(FunctionElement[float]):
    """The exact sum of integers, rounded to a float."""

    inherit_cache = True
    type = sa.Double()


@compiles(ExactSum)
def _sum(element: ExactSum, compiler: SQLCompiler, **options: object) -> str:
    return f"CAST(sum({compiler.process(element.clauses, **options)}) AS NUMERIC)"


@compiles(ExactSum, "sqlite")
def _sum_of_halves(element: ExactSum, compiler: SQLCompiler, **options: object) -> str:
    values = compiler.process(element.clauses, **options)
    if element.is_of_sums:
        return f"sum_of_sums({values})"
    high, low = _halves(values)
    carried = f"{high} + ({low} >> 32) + {OFFSET >> 32}"
    text = f"printf('%016x%08x', {carried}, {low} & {LOW})"
    return f"CASE WHEN {high} IS NOT NULL THEN {text} END"


@compiles(RoundedSum)
def _rounded_sum(element: RoundedSum, compiler: SQLCompiler, **options: object) -> str:
    return f"CAST(sum({compiler.process(element.clauses, **options)}) AS DOUBLE PRECISION)"


@compiles(RoundedSum, "sqlite")
def _rounded_sum_of_halves(element: RoundedSum, compiler: SQLCompiler, **options: object) -> str:
    high, low = _halves(compiler.process(element.clauses, **options))
    return f"({high} * {LOW + 1}.0 + {low})"


@compiles(ExactAverage)
def _average(element: ExactAverage, compiler: SQLCompiler, **options: object) -> str:
    values = compiler.process(element.clauses, **options)
    # A quotient has as many digits as the dividend, which may be more than by default.
    one = f"CAST(1 AS NUMERIC({GUARD_DIGITS + 1}, {GUARD_DIGITS}))"
    average = f"sum({values}) * {one} / NULLIF(count({values}), 0)"
    return f"round({average}, {element.type.scale})"


@compiles(ExactAverage, "sqlite")
def _average_of_halves(element: ExactAverage, compiler: SQLCompiler, **options: object) -> str:
    values = compiler.process(element.clauses, **options)
    high, low = _halves(values)
    return f"exact_average({high}, {low}, count({values}))"


def _halves(values: str) -> tuple[str, str]:
    """Return the sums of the upper and the lower 32 bits; neither has more than 64 bits."""
    return f"sum({values} >> 32)", f"sum({values} & {LOW})"


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions that the SQL for SQLite calls."""
    connection.create_function("exact_average", 3, _exact_average, deterministic=True)
    connection.create_aggregate("sum_of_sums", 1, _SumOfSums)  # type: ignore[arg-type]


def _exact_average(high: int | None, low: int, count: int) -> str | None:
    """Return an average in the form of SumType, from the sums of both halves."""
    if high is None:
        return None
    total = ((high << 32) + low) * 10**AVERAGE_DIGITS
    rounded = (2 * abs(total) + count) // (2 * count)
    return _encode(rounded if total >= 0 else -rounded)


class _SumOfSums:
    """The sum of sums in the form of SumType."""

    def __init__(self) -> None:
        self._units: int | None = None

    def step(self, value: str | None) -> None:
        """Add a sum; NULL counts as none."""
        if value is not None:
            self._units = (self._units or 0) + int(value, 16) - OFFSET

    def finalize(self) -> str | None:
        """Return the sum; NULL of no sums."""
        return None if self._units is None else _encode(self._units)
