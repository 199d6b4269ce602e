"""Kinds of values that filters compare: how operands are read, and their JSON Schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from math import isfinite
from typing import Any

from app.errors import InvalidFilter
from app.fields.parsing import parse_date, parse_decimal, parse_time, parse_uuid
from app.ids import Id, IdForm
from app.rest.visibility import Visibility

# The range of a 64-bit signed integer column.
INT64 = range(-(2**63), 2**63)
INTEGER_FORM = re.compile(r"-?[0-9]{1,19}", re.ASCII)

JsonSchema = Mapping[str, object]


class Shape(Enum):
    """The structure of a property's value, which decides which operators compare it."""

    SCALAR = auto()
    OBJECT = auto()
    # Compared with its items.
    ARRAY = auto()
    POSITION = auto()
    FILE = auto()


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of values, such as whole numbers; for arrays, the kind of their items.

    `description` completes "must be …" for a value that `read` refuses with ValueError; `problem`
    returns what else is wrong with a value, such as "must be one of a, b".
    """

    description: str = ""
    read: Callable[[object], object] | None = None
    schema: JsonSchema | None = None
    shape: Shape = Shape.SCALAR
    # Whether patterns such as those of `like` apply.
    is_text: bool = False
    # Whether the values are in lower case, so that operands match in any case.
    is_lower: bool = False
    problem: Callable[[Any], str] | None = None
    # The visibility of an object, for paths into it; None: everything.
    visibility: Visibility | None = None
    # Whether each value is computed when it is compared.
    is_computed: bool = False

    def coerce(self, path: str, value: object) -> Any:
        """Return a value from JSON or the query string in this kind; raise InvalidFilter."""
        if self.read is None:
            raise InvalidFilter(
                f"{path}: values of a property of this type cannot be compared in filters."
            )
        try:
            operand = self.read(value)
        except (ValueError, OverflowError):
            raise InvalidFilter(f"{path} must be {self.description}.") from None
        if self.problem and (problem := self.problem(operand)):
            raise InvalidFilter(f"{path} {problem}.")
        return operand


def _read_integer(value: object) -> int:
    if isinstance(value, str) and INTEGER_FORM.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in INT64:
        raise ValueError
    return value


def _read_number(value: object) -> float:
    number = float(value) if isinstance(value, str | int) else value
    if isinstance(value, bool) or not isinstance(number, float) or not isfinite(number):
        raise ValueError
    return number


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _read_lower(value: object) -> str:
    return _read_text(value).lower()


def _read_boolean(value: object) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value)
    if not isinstance(value, bool):
        raise ValueError
    return value


def _read_item(value: object) -> str | float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _read_number(value) if is_number else _read_text(value)


INTEGER = Kind("a whole number", _read_integer, {"type": "integer"})
NUMBER = Kind("a number", _read_number, {"type": "number"})
TEXT = Kind("a text", _read_text, {"type": "string"}, is_text=True)
LOWER_TEXT = replace(TEXT, read=_read_lower, is_lower=True)
BOOLEAN = Kind("true or false", _read_boolean, {"type": "boolean"})
TIME = Kind(
    "a time like 2026-01-02T03:04:05.678Z",
    parse_time,
    {"type": "string", "format": "date-time"},
)
DATE = Kind("a date like 2026-01-02", parse_date, {"type": "string", "format": "date"})
DECIMAL = Kind('a decimal like "12.50"', parse_decimal, {"type": "string", "format": "decimal"})
UUID = Kind("a UUID", parse_uuid, {"type": "string", "format": "uuid"})
# Arrays, by the type of their items; arrays of objects cannot be compared.
ARRAYS = {
    str: Kind("a text", _read_text, {"type": "string"}, Shape.ARRAY),
    float: Kind("a number", _read_number, {"type": "number"}, Shape.ARRAY),
    bool: Kind("true or false", _read_boolean, {"type": "boolean"}, Shape.ARRAY),
    datetime: Kind("a text", _read_text, {"type": "string"}, Shape.ARRAY),
    object: Kind("a text", _read_item, {"type": "string"}, Shape.ARRAY),
}
OBJECT = Kind(shape=Shape.OBJECT)
POSITION = Kind(shape=Shape.POSITION)
FILE = Kind(shape=Shape.FILE)
# Values that are only compared with null.
OPAQUE = Kind()


def enumeration(values: Sequence[str]) -> Kind:
    """Return the kind of a text with one of these values."""

    def problem(value: str) -> str:
        return "" if value in values else f"must be one of {', '.join(values)}"

    return Kind("a text", _read_text, {"enum": list(values)}, is_text=True, problem=problem)


def identifier(form: IdForm) -> Kind:
    """Return the kind of ids of this form."""
    if form.python_type is int:
        return INTEGER

    def read(value: object) -> Id:
        if (id := form.parse_json(value)) is None:
            raise ValueError
        return id

    schema = {name: value for name, value in form.json_schema.items() if name != "examples"}
    return Kind(form.description, read, schema, is_text=form.name == "text")
