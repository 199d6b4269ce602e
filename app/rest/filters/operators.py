"""The operators of conditions.

Both databases select the same rows: text compares by code point, `like` is case-sensitive, `ilike`
ignores the case of A to Z, and null differs from every value.
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Enum,
    Float,
    String,
    and_,
    false,
    func,
    literal,
    or_,
    true,
    type_coerce,
)
from sqlalchemy.types import TypeEngine

from app.database.columns import Position
from app.database.dialects import HasItem, Regexp
from app.database.ids import IdColumn, TextId
from app.errors import InvalidFilter
from app.rest.requests.parameters import as_list

from .operands import coerce
from .patterns import complete_pattern, matches
from .regexps import Expression, folded, parse_regexp
from .targets import Column, Target, text_order

# The values of a 32-bit column.
INT32 = range(-(2**31), 2**31)

# Returns the condition, given the path for errors, the target and the operand.
Operator = Callable[[str, Target, Any], ColumnElement[bool]]


def operators_for(column: Column) -> Mapping[str, Operator]:
    """Return the operators for a column."""
    kind = column.type.python_type
    if kind is list:
        return ARRAY_OPERATORS
    return NULL_OPERATORS if kind in (dict, Position) else OPERATORS


def holds_text(type_: TypeEngine[Any]) -> bool:
    """Tell whether values of a type are compared with patterns; UUIDs and ObjectIds are not."""
    return type_.python_type is str and (
        not isinstance(type_, IdColumn) or isinstance(type_, TextId)
    )


def _operand(path: str, target: Target, value: Any) -> Any:
    """Return a value as the target's type, null as what is stored for it."""
    if value is None:
        return target.null
    operand = coerce(path, target.value.type, value)
    # PostgreSQL refuses a number that the column's type does not hold.
    is_large = type(operand) is int and operand not in INT32
    return literal(operand, BigInteger()) if is_large else operand


def _equal(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    operand = _operand(path, target, value)
    return target.is_null if operand is None else target.value == operand


def _unequal(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    operand = _operand(path, target, value)
    return ~target.is_null if operand is None else target.value.is_distinct_from(operand)


def _exists(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    if value not in (True, False, "true", "false"):
        raise InvalidFilter(f"{path} must be true or false.")
    return ~target.is_null if value in (True, "true") else target.is_null


def _compare(relation: Callable[[Any, Any], Any]) -> Operator:
    def compare(path: str, target: Target, value: Any) -> ColumnElement[bool]:
        operand = _present(path, target, value)
        condition: ColumnElement[bool] = relation(text_order(target.value), operand)
        return condition

    return compare


def _between(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    ends = as_list(value, path)
    if len(ends) != 2:
        raise InvalidFilter(f"{path} must be a list of two.")
    low, high = (_present(path, target, end) for end in ends)
    ordered = text_order(target.value)
    return and_(ordered >= low, ordered <= high)


def _any_of(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    operands = [_operand(path, target, each) for each in as_list(value, path)]
    given = [each for each in operands if each is not None]
    found = target.value.in_(given)
    return found | target.is_null if len(given) < len(operands) else found


def _like(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    return matches(text_order(_text(path, target)), complete_pattern(_pattern(path, value)))


def _ilike(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    pattern = complete_pattern(_pattern(path, value)).encode()
    folded = re.sub(rb"[A-Z]+", lambda match: match[0].lower(), pattern).decode()
    return matches(func.lower(text_order(_text(path, target))), folded)


def _regexp(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    expressions, ignores_case = parse_regexp(path, _pattern(path, value))
    text = text_order(_text(path, target))
    if ignores_case:
        return _fits(func.lower(text), [folded(each) for each in expressions])
    return _fits(text, expressions)


def _iregexp(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    expressions, _ = parse_regexp(path, _pattern(path, value))
    folded_text = func.lower(text_order(_text(path, target)))
    return _fits(folded_text, [folded(each) for each in expressions])


def _fits(text: ColumnElement[str], expressions: list[Expression]) -> ColumnElement[bool]:
    return or_(false(), *(_fits_one(text, each) for each in expressions))


def _fits_one(text: ColumnElement[str], expression: Expression) -> ColumnElement[bool]:
    if (pattern := expression.as_like()) is not None:
        return matches(text, pattern)
    return Regexp(text, expression.as_regexp(), expression.as_glob())


def _not(positive: Operator) -> Operator:
    def negative(path: str, target: Target, value: Any) -> ColumnElement[bool]:
        return positive(path, target, value).is_not(true())

    return negative


def _present(path: str, target: Target, value: Any) -> ColumnElement[Any]:
    """Return a value as a bound parameter; by itself SQLAlchemy renders booleans inline."""
    if value is None:
        raise InvalidFilter(f"{path} must not be null.")
    operand = _operand(path, target, value)
    return operand if isinstance(operand, ColumnElement) else literal(operand, target.value.type)


def _text(path: str, target: Target) -> ColumnElement[str]:
    """Return the target as text; raise InvalidFilter if it is none."""
    type_ = target.value.type
    if not holds_text(type_):
        raise InvalidFilter(f"{path} must compare text with a text.")
    return (
        target.value
        if isinstance(type_, String) and not isinstance(type_, Enum)
        else type_coerce(target.value, String)
    )


def _pattern(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"{path} must compare text with a text.")
    return value


def _has_item(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    return _has_any_item(path, target, [value])


def _has_any_item(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    wanted = as_list(value, path)
    items = [_item(path, target.value.type, each) for each in wanted if each is not None]
    is_null = [target.is_null] if None in wanted else []
    return or_(false(), *is_null, *([HasItem(target.value, items)] if items else []))


def _item(path: str, column_type: Any, value: Any) -> str | float:
    """Return a value as what the items of an array are."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if column_type.items is float or (column_type.items is object and is_number):
        number: float = coerce(path, Float(), value)
        return number
    if not isinstance(value, str):
        raise InvalidFilter(f"{path} must be a text.")
    return value


def _is_null(path: str, target: Target, value: Any) -> ColumnElement[bool]:
    if value is not None:
        raise InvalidFilter(
            f"{path} must be null; compare a property inside it, such as address.city."
        )
    return target.is_null


NULL_OPERATORS: dict[str, Operator] = {
    "eq": _is_null,
    "neq": _not(_is_null),
    "exists": _exists,
}
# An array equals what one of its items equals.
ARRAY_OPERATORS: dict[str, Operator] = {
    "eq": _has_item,
    "neq": _not(_has_item),
    "inq": _has_any_item,
    "nin": _not(_has_any_item),
    "exists": _exists,
}
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
    "like": _like,
    "nlike": _not(_like),
    "ilike": _ilike,
    "nilike": _not(_ilike),
    "regexp": _regexp,
    "iregexp": _iregexp,
    "exists": _exists,
}
# The operators that `options: "i"` may stand beside, and what they then are.
IGNORING_CASE = {
    "like": "ilike",
    "nlike": "nilike",
    "ilike": "ilike",
    "nilike": "nilike",
    "regexp": "iregexp",
}
