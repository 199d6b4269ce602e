"""The first moments of units of time in SQL, which differs between databases."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# Units of time; by which SQLite's text of a time is cut, and what completes it again.
UNITS = {
    "year": (4, "-01-01 00:00:00.000000"),
    "month": (7, "-01 00:00:00.000000"),
    "week": (10, " 00:00:00.000000"),
    "day": (10, " 00:00:00.000000"),
    "hour": (13, ":00:00.000000"),
}
# Characters of the text of a date.
DATE_LENGTH = 10


class StartOf(FunctionElement[Any]):
    """The first moment of the unit that a time is in, in UTC; of a date, the unit's first date.

    A week is that of ISO 8601, which begins on Monday.
    """

    inherit_cache = True

    def __init__(self, value: ColumnElement[Any], unit: str) -> None:
        super().__init__(value, sa.literal_column(f"'{unit}'"))
        self.type = value.type


@compiles(StartOf)
def _truncate(element: StartOf, compiler: SQLCompiler, **options: object) -> str:
    value, unit = (compiler.process(clause, **options) for clause in element.clauses)
    if isinstance(element.type, sa.Date):
        return f"CAST(date_trunc({unit}, CAST({value} AS TIMESTAMP)) AS DATE)"
    # Without a time zone: that of the connection could move the first year before year 1.
    return f"date_trunc({unit}, {value} AT TIME ZONE 'UTC')"


@compiles(StartOf, "sqlite")
def _cut(element: StartOf, compiler: SQLCompiler, **options: object) -> str:
    value, unit = (compiler.process(clause, **options) for clause in element.clauses)
    length, rest = UNITS[unit.strip("'")]
    if isinstance(element.type, sa.Date):
        rest = rest[: DATE_LENGTH - length]
    cut = f"substr({value}, 1, {length})"
    if unit == "'week'":
        # Monday is the first day of the week: six days back, then forward to a Monday.
        cut = f"date({cut}, '-6 days', 'weekday 1')"
    return f"({cut} || '{rest}')"
