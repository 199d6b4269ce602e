"""The base class and the fields of the models' marshmallow schemas."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import marshmallow
from marshmallow import ValidationError, fields, validate

from app.extensions import iso_time

# The C0 and C1 control characters and DEL; the second pattern allows tab and line breaks.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f]")
CONTROL_EXCEPT_WHITESPACE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Field = fields.Field[Any]
# Serializers that return the column's value unchanged.
PASSTHROUGH_SERIALIZERS = (
    fields.String._serialize,
    fields.Integer._serialize,
    fields.Boolean._serialize,
)


def not_blank(text: str) -> None:
    """Raise ValidationError for text that is empty or white space."""
    if not text.strip():
        raise ValidationError("can't be blank")


class Schema(marshmallow.Schema):
    """A schema that rejects unknown and read-only properties."""

    error_messages = {
        "unknown": "is not a property of this model",
        "type": "must be an object",
    }

    def handle_error(self, error: ValidationError, data: Any, **kwargs: Any) -> None:
        """Report read-only properties as such, not as unknown."""
        for name, field in self.fields.items():
            if field.dump_only and (field.data_key or name) in error.messages_dict:
                error.messages_dict[field.data_key or name] = ["is read-only"]


class Text(fields.String):
    """Text of at most `max_length` characters; `multiline` allows tabs and line breaks."""

    default_error_messages = {
        "required": "can't be blank",
        "null": "can't be blank",
        "invalid": "must be a string",
        "control": "has a control character",
        "long": "is too long (maximum is {max_length} characters)",
    }

    def __init__(self, max_length: int, multiline: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_length = max_length
        self.forbidden = CONTROL_EXCEPT_WHITESPACE if multiline else CONTROL_CHARACTERS

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, *args, **kwargs)
        if len(text) > self.max_length:
            raise self.make_error("long", max_length=self.max_length)
        if self.forbidden.search(text):
            raise self.make_error("control")
        return text

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords that apispec cannot derive from the field."""
        non_blank = {"pattern": r"\S"} if not_blank in self.validators else {}
        return {"maxLength": self.max_length, **non_blank}


class Int32(fields.Integer):
    """A 32-bit signed integer, the range of an SQL INTEGER."""

    default_error_messages = {"null": "can't be blank", "invalid": "must be a whole number"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, validate=validate.Range(-(2**31), 2**31 - 1), **kwargs)


class Boolean(fields.Boolean):
    """True or false; also as the strings "true" and "false", which forms send."""

    truthy = {True, "true"}
    falsy = {False, "false"}
    default_error_messages = {"null": "can't be blank", "invalid": "must be true or false"}


class Timestamp(fields.Field[datetime]):
    """A point in time as ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`."""

    def _serialize(self, value: datetime | None, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else iso_time(value)

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of a point in time."""
        example = "2026-01-02T03:04:05.678Z"
        return {"type": "string", "format": "date-time", "examples": [example]}
