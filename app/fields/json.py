"""Fields of properties that hold JSON: objects, arrays and positions."""

import json
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Unpack

from marshmallow import fields

from app.database.columns import Position

from .base import MAX_SAFE, Field, FieldOptions, JsonSchema, Parsed
from .parsing import is_number

#: Maximum characters of the JSON of one property.
MAX_LENGTH = 20_000


def parse_position(value: object) -> Position:
    """Read a position from an object or from `"lat,lng"`; raise ValueError."""
    if isinstance(value, str) and len(value) <= 100:
        lat, _, lng = value.partition(",")
        value = {"lat": lat, "lng": lng}
    if not isinstance(value, dict) or value.keys() != {"lat", "lng"}:
        raise ValueError("not a position")
    return Position(lat=_degrees(value["lat"], 90), lng=_degrees(value["lng"], 180))


def _degrees(value: object, most: int) -> float:
    if not isinstance(value, str) and not is_number(value):
        raise ValueError("not a number")
    try:
        degrees = float(value)
    except OverflowError:
        raise ValueError("not a number") from None
    if not -most <= degrees <= most:
        raise ValueError("out of range")
    return degrees


class Object(fields.Field[dict[str, object]]):
    """A JSON object with any properties."""

    default_error_messages = {
        "invalid": "must be an object",
        "long": f"is too long (maximum is {MAX_LENGTH} characters of JSON)",
        "number": "has a number that is not finite or, if it is whole, beyond 2^53",
    }

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.make_error("invalid")
        check_json(self, value)
        return value

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of an object."""
        return {"type": "object", "examples": [{}]}


class AnyValue(fields.Field[object]):
    """A JSON value of any type."""

    default_error_messages = Object.default_error_messages

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> object:
        check_json(self, value)
        return value

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of any value."""
        return {"examples": [{}]}


class Array(fields.Field[list[object]]):
    """A JSON array of items of one type: `str`, `float`, `bool`, `dict`, or `object` for any.

    `datetime` stands for texts with times, which are not checked.
    """

    default_error_messages = {
        **Object.default_error_messages,
        "invalid": "must be an array of {items}",
    }
    # The names of items in errors and JSON Schema.
    ITEMS: dict[type, tuple[str, str]] = {
        str: ("texts", "string"),
        datetime: ("texts", "string"),
        dict: ("objects", "object"),
        float: ("numbers", "number"),
        bool: ("booleans", "boolean"),
    }

    def __init__(self, items: type, **options: Unpack[FieldOptions]) -> None:
        super().__init__(**options)
        self.items = items

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> list[object]:
        if not isinstance(value, list) or not all(map(self._is_item, value)):
            raise self.make_error("invalid", items=self._called()[0])
        check_json(self, value)
        return value

    def _is_item(self, value: object) -> bool:
        if self.items is float:
            return is_number(value)
        return isinstance(value, str if self.items is datetime else self.items)

    def _called(self) -> tuple[str, str]:
        return self.ITEMS.get(self.items, ("values", ""))

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of an array."""
        kind = self._called()[1]
        return {"type": "array", "items": {"type": kind} if kind else {}, "examples": [[]]}


class GeoPointField(Parsed[Position]):
    """A position on Earth: `{"lat": 52.5, "lng": 13.4}`. Clients may also send `"52.5,13.4"`."""

    parse = staticmethod(parse_position)
    default_error_messages = {
        "invalid": 'must be a position like {{"lat": 52.5, "lng": 13.4}}',
    }
    JSON_SCHEMA = {
        "type": "object",
        "properties": {
            "lat": {"type": "number", "minimum": -90, "maximum": 90},
            "lng": {"type": "number", "minimum": -180, "maximum": 180},
        },
        "required": ["lat", "lng"],
        "additionalProperties": False,
        "examples": [{"lat": 52.5, "lng": 13.4}],
    }


def check_json(field: Field, value: object) -> None:
    """Raise ValidationError for too long JSON, or numbers that databases would change."""
    if not _has_safe_numbers(value):
        raise field.make_error("number")
    if len(json.dumps(value)) > MAX_LENGTH:
        raise field.make_error("long")


def _has_safe_numbers(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_has_safe_numbers, value.values()))
    if isinstance(value, list):
        return all(map(_has_safe_numbers, value))
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or abs(value) <= MAX_SAFE
