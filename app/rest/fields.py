"""The fields and the schema base that every model's wire shape is made of."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import marshmallow
from marshmallow import ValidationError, fields, validate

# The C0 and C1 control characters and DEL; the second leaves out tab and line breaks.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
CONTROL_BUT_LINES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Field = fields.Field[Any]
# How fields dump that give what the column holds: text, whole numbers, true and false.
AS_STORED = (fields.String._serialize, fields.Integer._serialize, fields.Boolean._serialize)


def not_blank(text: str) -> None:
    """Refuse text of nothing but white space."""
    if not text.strip():
        raise ValidationError("can't be blank")


class Schema(marshmallow.Schema):
    """A wire shape that refuses what it does not know, and what only the service sets."""

    error_messages = {
        "unknown": "is not a property of this model",
        "type": "must be an object",
    }

    def handle_error(self, error: ValidationError, data: Any, **kwargs: Any) -> None:
        """Tell a property that is read-only from one that does not exist."""
        for name, field in self.fields.items():
            if field.dump_only and (field.data_key or name) in error.messages_dict:
                error.messages_dict[field.data_key or name] = ["is read-only"]


class Text(fields.String):
    """Text of at most `longest` characters; `lines` allows tabs and line breaks as well."""

    default_error_messages = {
        "required": "can't be blank",
        "null": "can't be blank",
        "invalid": "must be a string",
        "control": "has a control character",
        "long": "is too long (maximum is {longest} characters)",
    }

    def __init__(self, longest: int, lines: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.longest = longest
        self.refused = CONTROL_BUT_LINES if lines else CONTROL

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, *args, **kwargs)
        if len(text) > self.longest:
            raise self.make_error("long", longest=self.longest)
        if self.refused.search(text):
            raise self.make_error("control")
        return text

    def keywords(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Say in JSON Schema what text this is; other fields of ours have the like."""
        filled = {"pattern": r"\S"} if not_blank in self.validators else {}
        return {"maxLength": self.longest, **filled}


class Whole(fields.Integer):
    """A whole number that an SQL INTEGER holds."""

    default_error_messages = {"null": "can't be blank", "invalid": "must be a whole number"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, validate=validate.Range(-(2**31), 2**31 - 1), **kwargs)


class Flag(fields.Boolean):
    """True or false; forms, which have only text, spell them out."""

    truthy = {True, "true"}
    falsy = {False, "false"}
    default_error_messages = {"null": "can't be blank", "invalid": "must be true or false"}


class Timestamp(fields.Field[datetime]):
    """A point in time as ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`."""

    def _serialize(self, value: datetime | None, *args: Any, **kwargs: Any) -> str | None:
        if value is None:
            return None
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def keywords(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Say in JSON Schema that it is a point in time."""
        example = "2026-01-02T03:04:05.678Z"
        return {"type": "string", "format": "date-time", "examples": [example]}
