"""Parsed filters as SQL: conditions and orders on the columns of a table.

Both databases select the same rows: texts compare by code point, `like` is case-sensitive, `ilike`
ignores the case of A to Z, and null differs from every value.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from math import pi, sin
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy import ColumnElement, String, func, literal

from app.database import dialects
from app.database.columns import Position, unit_vector

from .kinds import BOOLEAN, NUMBER, TEXT, Kind, Shape
from .patterns import NEGATED, PATTERN_OPERATORS, Alternative, LikePattern
from .tree import Comparison, Group, Near, Order, Pattern, Place, Related, Where, WhereNode

# The range of a 32-bit column.
INT32 = range(-(2**31), 2**31)
# Names of the types of JSON values.
JSON_TYPES = {
    TEXT: dialects.JSON_TEXTS,
    NUMBER: dialects.JSON_NUMBERS,
    BOOLEAN: dialects.JSON_BOOLEANS,
}

Operand = ColumnElement[Any]
Column = sa.Column[Any]
Columns = Mapping[str, Column]
# Columns, or other expressions that are compared like them.
Operands = Mapping[str, Operand]


class LastValue(NamedTuple):
    """A column to order by, with its value in the last row of a page."""

    column: Column
    value: object
    descending: bool = False


class RelatedSql(Protocol):
    """SQL about the rows that relations lead to."""

    def condition(self, related: Related) -> ColumnElement[bool]:
        """Return a condition on related rows."""

    def values(self, place: Place) -> list[Operand]:
        """Return the values to order by of a place in a related row; NULL if there is none."""


class NoRelations:
    """SQL of filters without relations."""

    def condition(self, related: Related) -> ColumnElement[bool]:
        """Raise TypeError."""
        raise TypeError(f"{related.path} cannot be used in this filter")

    def values(self, place: Place) -> list[Operand]:
        """Raise TypeError."""
        raise TypeError(f"{place} cannot be used in this filter")


NO_RELATIONS = NoRelations()


class SqlTarget(NamedTuple):
    """The left side of a comparison: a column, or a path in a JSON column."""

    value: Operand
    is_null: ColumnElement[bool]


def conditions(
    where: Where, columns: Operands, related: RelatedSql = NO_RELATIONS
) -> list[ColumnElement[bool]]:
    """Return the conditions on the columns of the properties; all of them must hold."""
    return [_condition(condition, columns, related) for condition in where]


def orders(
    order: Iterable[Order], columns: Operands, related: RelatedSql = NO_RELATIONS
) -> list[Operand]:
    """Return the columns and values to order by."""
    return [value for term in order for value in _order(term, columns, related)]


def after(last: Sequence[LastValue], repeats: bool = False) -> list[ColumnElement[bool]]:
    """Return conditions one of which a row after the last one of a page meets; the id comes last.

    Rows that meet one of them come before those that meet the next. Columns without NULLs and with
    the same direction are compared together, as an index does. If many rows have the first value,
    as `repeats` says, they have a condition of their own: SQLite would read all of them.
    """
    first, others = last[0], last[1:]
    column, is_null = first.column, first.column.is_(None)
    if first.value is None:
        same = sa.and_(is_null, sa.or_(*after(others)))
        return [same] if first.descending else [same, ~is_null]
    # NULLs sort before all other values.
    nulls = [is_null] if column.nullable and first.descending else []
    if repeats and others:
        same = sa.and_(column == _literal(column, first.value), sa.or_(*after(others)))
        return [same, _beyond([first])[0], *nulls]
    compared = [first, *takewhile(partial(_is_compared_with, first), others)]
    beyond, within = _beyond(compared)
    if len(compared) == len(last):
        return [beyond]
    # What is within follows from the rest, and allows an index.
    return [sa.and_(within, sa.or_(beyond, *after(last[len(compared) :]))), *nulls]


def _is_compared_with(first: LastValue, other: LastValue) -> bool:
    is_nullable = first.column.nullable or other.column.nullable
    return not is_nullable and other.descending == first.descending


def _beyond(last: Sequence[LastValue]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions that values, compared together, come after these, and not before."""
    columns = sa.tuple_(*(by_code_point(each.column) for each in last))
    values = sa.tuple_(*(_literal(each.column, each.value) for each in last))
    if last[0].descending:
        return columns < values, columns <= values
    return columns > values, columns >= values


def values(place: Place, columns: Operands) -> list[Operand]:
    """Return the values to order by of a property, or of a path in it."""
    column = columns[place.property]
    if place.steps:
        # Numbers sort before text; one of the two is NULL.
        return [_at_path(column, place.steps, kind) for kind in (TEXT, NUMBER)]
    return [column]


def _condition(condition: WhereNode, columns: Operands, related: RelatedSql) -> ColumnElement[bool]:
    match condition:
        case Group("and", wheres):
            return sa.and_(sa.true(), *(_all(where, columns, related) for where in wheres))
        case Group(_, wheres):
            return sa.or_(sa.false(), *(_all(where, columns, related) for where in wheres))
        case Related():
            return related.condition(condition)
        case Comparison(place, kind, word, operand):
            operators = ARRAY_OPERATORS if kind.shape is Shape.ARRAY else OPERATORS
            return operators[word](_target(place, kind, columns), operand)


def _all(where: Where, columns: Operands, related: RelatedSql) -> ColumnElement[bool]:
    return sa.and_(sa.true(), *conditions(where, columns, related))


def _target(place: Place, kind: Kind, columns: Operands) -> SqlTarget:
    column = columns[place.property]
    if place.steps:
        is_null = dialects.JsonValue(column, place.steps).is_(None)
        return SqlTarget(_at_path(column, place.steps, kind), is_null)
    # The value stored for null, if it is not NULL; results of functions have no such value.
    null = getattr(column, "info", {}).get("null")
    return SqlTarget(column, column.is_(None) if null is None else column == null)


def _at_path(column: Operand, steps: Sequence[str], kind: Kind) -> Operand:
    """Return the value at a path in JSON if it is of this kind, else NULL."""
    value: Operand = dialects.JsonValue(column, steps)
    if kind is not TEXT:
        value = sa.cast(value, sa.Float(53) if kind is NUMBER else sa.Boolean())
    return sa.case((dialects.JsonType(column, steps).in_(JSON_TYPES[kind]), value))


def by_code_point(value: Operand) -> Operand:
    """Return a value that is compared in the same way on every database."""
    return dialects.CodePoints(value) if isinstance(value.type, String) else value


def _bound(value: object) -> object:
    """Return a value in a type that PostgreSQL accepts, even if the column cannot hold it."""
    is_large = type(value) is int and value not in INT32
    return literal(value, sa.BigInteger()) if is_large else value


def _literal(compared: Operand, value: object) -> Operand:
    """Return a value as a parameter; SQLAlchemy would render booleans inline."""
    bound = _bound(value)
    return bound if isinstance(bound, ColumnElement) else literal(bound, compared.type)


def _equal(target: SqlTarget, value: object) -> ColumnElement[bool]:
    return target.is_null if value is None else target.value == _bound(value)


def _unequal(target: SqlTarget, value: object) -> ColumnElement[bool]:
    return ~target.is_null if value is None else target.value.is_distinct_from(_bound(value))


def _exists(target: SqlTarget, exists: bool) -> ColumnElement[bool]:
    return ~target.is_null if exists else target.is_null


def _compare(relation: Callable[[Any, Any], Any]) -> "Operator":
    def compare(target: SqlTarget, value: object) -> ColumnElement[bool]:
        condition: ColumnElement[bool]
        condition = relation(by_code_point(target.value), _literal(target.value, value))
        return condition

    return compare


def _between(target: SqlTarget, ends: Sequence[object]) -> ColumnElement[bool]:
    low, high = (_literal(target.value, end) for end in ends)
    ordered = by_code_point(target.value)
    return sa.and_(ordered >= low, ordered <= high)


def _any_of(target: SqlTarget, values: Sequence[object]) -> ColumnElement[bool]:
    found = target.value.in_([_bound(value) for value in values if value is not None])
    return found | target.is_null if None in values else found


def _matches(target: SqlTarget, pattern: Pattern) -> ColumnElement[bool]:
    type_ = target.value.type
    is_plain = isinstance(type_, String) and not isinstance(type_, sa.Enum)
    text = by_code_point(target.value if is_plain else sa.type_coerce(target.value, String))
    text = func.lower(text) if pattern.ignores_case else text
    return sa.or_(sa.false(), *(_match(text, alternative) for alternative in pattern.alternatives))


def _match(text: ColumnElement[str], pattern: Alternative) -> ColumnElement[bool]:
    if not isinstance(pattern, LikePattern):
        return dialects.Regexp(text, pattern.as_regexp(), pattern.as_glob())
    if (contained := pattern.contained()) is not None:
        return dialects.Contains(text, pattern.text, contained)
    if (end := pattern.end()) is not None:
        return dialects.EndsWith(text, pattern.text, end)
    return dialects.Like(text, pattern.text, pattern.as_glob())


def _has_item(target: SqlTarget, value: str | float | None) -> ColumnElement[bool]:
    return _has_any_item(target, [value])


def _has_any_item(target: SqlTarget, values: Sequence[str | float | None]) -> ColumnElement[bool]:
    items = [value for value in values if value is not None]
    is_null = [target.is_null] if None in values else []
    return sa.or_(sa.false(), *is_null, *([dialects.HasItem(target.value, items)] if items else []))


def _not(positive: "Operator") -> "Operator":
    def negative(target: SqlTarget, operand: object) -> ColumnElement[bool]:
        return positive(target, operand).is_not(sa.true())

    return negative


def _near(target: SqlTarget, near: Near) -> ColumnElement[bool]:
    distance = _squared_chord(target.value, near)
    limits = []
    if near.most is not None:
        limits.append(distance <= _chord(near.most) ** 2)
    if near.least is not None:
        limits.append(distance >= _chord(near.least) ** 2)
    return sa.and_(~target.is_null, *limits)


def _chord(angle: float) -> float:
    """Return the length of the chord of an angle in radians, on a sphere of radius 1."""
    return 2 * sin(min(max(angle, 0), pi) / 2)


def _squared_chord(position: Operand, near: Near) -> ColumnElement[float]:
    """Return the square of the distance between two positions on that sphere."""
    vector = unit_vector(Position(near.position))
    x, y, z = (
        sa.cast(dialects.JsonValue(position, [name]), sa.Float(53)) - value
        for name, value in vector.items()
    )
    return x * x + y * y + z * z


# Returns the condition for a target and an operand.
Operator = Callable[[SqlTarget, Any], ColumnElement[bool]]
OPERATORS: dict[str, Operator] = {
    "eq": _equal,
    "neq": _unequal,
    "gt": _compare(operator.gt),
    "gte": _compare(operator.ge),
    "lt": _compare(operator.lt),
    "lte": _compare(operator.le),
    "between": _between,
    "inq": _any_of,
    "nin": _not(_any_of),
    **{word: _not(_matches) if word in NEGATED else _matches for word in PATTERN_OPERATORS},
    "exists": _exists,
    "near": _near,
}
# An array matches if any item does.
ARRAY_OPERATORS: dict[str, Operator] = {
    "eq": _has_item,
    "neq": _not(_has_item),
    "inq": _has_any_item,
    "nin": _not(_has_any_item),
    "exists": _exists,
}


def _order(term: Order, columns: Operands, related: RelatedSql) -> list[Operand]:
    if term.near:
        return [_squared_chord(columns[term.place.property], term.near)]
    if term.place.relations:
        return [_directed(value, term, True) for value in related.values(term.place)]
    column = columns[term.place.property]
    is_nullable = bool(term.place.steps) or bool(getattr(column, "nullable", True))
    return [_directed(value, term, is_nullable) for value in values(term.place, columns)]


def _directed(value: Operand, term: Order, is_nullable: bool) -> Operand:
    return dialects.directed(by_code_point(value), term.descending, is_nullable)
