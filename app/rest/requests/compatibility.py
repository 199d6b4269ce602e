"""Loading bodies as LoopBack 3 does, if COMPATIBILITY is set."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import marshmallow

from app.fields.base import Boolean, Enumeration, Field, Id, Integer, Number, StrictSchema, Text
from app.fields.json import Array
from app.fields.parsing import parse_time
from app.settings import Settings, is_compatible
from app.times import iso_time

# Loads a body by a schema: `load(schema, body, many=..., partial=...)`.
Load = Callable[..., Any]

# A number of at most 40 characters.
NUMBER = re.compile(r"(?=.{1,40}\Z)-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
# Values that stand for a boolean.
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# A float's exponent in Python, where JavaScript writes it differently.
EXPONENT = re.compile(r"(e[+-])0")


def loader(settings: Settings) -> Load:
    """Return the function that loads bodies in an app with these settings."""
    return load_loosely if is_compatible(settings) else marshmallow.Schema.load


def load_loosely(schema: marshmallow.Schema, body: Any, **options: Any) -> Any:
    """Load a body, ignoring properties that the schema lacks or that clients cannot write.

    Numbers and booleans are converted to text, and text to numbers and booleans, as the schema
    requires; also in arrays. A StrictSchema ignores only what clients cannot write.
    """
    is_list = isinstance(body, list)
    converted = [_prepare(schema, item) for item in body] if is_list else _prepare(schema, body)
    unknown = schema.unknown
    if unknown == marshmallow.RAISE and not isinstance(schema, StrictSchema):
        unknown = marshmallow.EXCLUDE
    return schema.load(converted, unknown=unknown, **options)


def _prepare(schema: marshmallow.Schema, body: object) -> Any:
    """Return a body as the schema needs it, without what clients cannot write."""
    converted = convert(schema, body)
    if not isinstance(schema, StrictSchema) or not isinstance(converted, dict):
        return converted
    read_only = {field.data_key or name for name, field in schema.fields.items() if field.dump_only}
    return {name: value for name, value in converted.items() if name not in read_only}


def convert(schema: marshmallow.Schema, body: object) -> Any:
    """Return a body with texts, numbers and booleans in the types that a schema requires."""
    if not isinstance(body, dict):
        return body
    fields = {field.data_key or name: field for name, field in schema.load_fields.items()}
    return {
        name: _convert_value(fields[name], value) if name in fields else value
        for name, value in body.items()
    }


def _convert_value(field: Field, value: object) -> object:
    """Return a value converted to a field's type, if possible; passwords are not changed."""
    if isinstance(field, Array) and isinstance(value, list):
        return [_as(field.items, item) for item in value]
    return _as(_wanted(field), value)


def _wanted(field: Field) -> type[object] | None:
    """Return the type that a field needs: text, a number (`float`), a boolean or something else."""
    if isinstance(field, Id):
        return str if field.column_type.form.python_type is str else float
    if isinstance(field, Text | Enumeration):
        return str
    if isinstance(field, Boolean):
        return bool
    return float if isinstance(field, Integer | Number) else None


def _as(wanted: type[object] | None, value: object) -> object:
    """Return a value converted to this type, if possible."""
    if wanted is str:
        return to_text(value)
    if wanted is bool:
        return to_boolean(value)
    if wanted is datetime:
        return to_time(value)
    return to_number(value) if wanted is float else value


def to_text(value: object) -> object:
    """Return JavaScript's text for a number or boolean; any other value unchanged."""
    return _text_of(value) if isinstance(value, bool | int | float) else value


def to_number(value: object) -> object:
    """Return the number that a text stands for; any other value unchanged."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value.strip()):
        return value
    number = float(value)
    return int(number) if number.is_integer() else number


def to_boolean(value: object) -> object:
    """Return the boolean that a value such as 0 or "true" stands for; any other value unchanged."""
    text = to_text(value)
    return BOOLEANS.get(text, value) if isinstance(text, str) else value


def to_time(value: object) -> object:
    """Return the JSON text of the time that a value stands for; any other value unchanged."""
    try:
        return iso_time(parse_time(value))
    except ValueError:
        return value


def _text_of(value: bool | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return EXPONENT.sub(r"\1", str(value))
