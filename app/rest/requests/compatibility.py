"""Loading bodies as LoopBack 3 does, if COMPATIBILITY says so."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import marshmallow

from app.rest.fields.base import Enumeration, Field, Integer, Number, Text
from app.rest.fields.ids import Id
from app.settings import is_compatible

# Loads a body by a schema: `load(schema, body, many=..., partial=...)`.
Load = Callable[..., Any]

# A number, by at most 40 characters.
NUMBER = re.compile(r"(?=.{1,40}\Z)-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
# The exponent of a float in Python, as far as JavaScript writes it otherwise.
EXPONENT = re.compile(r"(e[+-])0")


def loader(settings: Mapping[str, Any]) -> Load:
    """Return the function that loads bodies in an app with these settings."""
    return load_loosely if is_compatible(settings) else marshmallow.Schema.load


def load_loosely(schema: marshmallow.Schema, body: Any, **options: Any) -> Any:
    """Load a body without the properties that the schema does not have or clients cannot write.

    Numbers and booleans become text, and text becomes numbers, where the schema wants it.
    """
    is_list = isinstance(body, list)
    converted = [_convert(schema, item) for item in body] if is_list else _convert(schema, body)
    unknown = marshmallow.EXCLUDE if schema.unknown == marshmallow.RAISE else schema.unknown
    return schema.load(converted, unknown=unknown, **options)


def _convert(schema: marshmallow.Schema, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    fields = {field.data_key or name: field for name, field in schema.load_fields.items()}
    return {
        name: _convert_value(fields[name], value) if name in fields else value
        for name, value in body.items()
    }


def _convert_value(field: Field, value: Any) -> Any:
    """Return a value as the type that a field wants, if there is a way; passwords as they are."""
    wanted = _wanted(field)
    if wanted is str and isinstance(value, bool | int | float):
        return to_text(value)
    if wanted is float and isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return _to_number(value)
    return value


def _wanted(field: Field) -> type[Any] | None:
    """Return whether a field wants text (`str`), a number (`float`) or something else."""
    if isinstance(field, Id):
        return str if field.column_type.form.python_type is str else float
    if isinstance(field, Text | Enumeration):
        return str
    return float if isinstance(field, Integer | Number) else None


def to_text(value: bool | float) -> str:
    """Return the text that JavaScript makes of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return EXPONENT.sub(r"\1", str(value))


def _to_number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number
