"""The base class and the fields of the models' marshmallow schemas."""

import decimal
import re
from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any
from uuid import UUID

import marshmallow
from marshmallow import ValidationError, fields, validate

from app.database.columns import ExactDecimal
from app.errors import BLANK
from app.times import iso_time

from .times import parse_date, parse_time

# The C0 and C1 control characters and DEL; the second pattern allows tab and line breaks.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f]")
CONTROL_EXCEPT_WHITESPACE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# A decimal, by at most 40 characters; a number of JSON may have an exponent.
DECIMAL = re.compile(r"(?=.{1,40}\Z)-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)

#: The largest whole number in the JSON of a property: JavaScript and both databases hold it exactly
#: (RFC 8259, 6).
MAX_SAFE = 2**53 - 1
#: Characters of a text of a model in JSON, unless its `length` is less: what a pattern of a filter
#: is compared with.
MAX_TEXT = 10_000

Field = fields.Field[Any]
# Serializers that return the column's value unchanged.
PASSTHROUGH_SERIALIZERS = (
    fields.String._serialize,
    fields.Integer._serialize,
    fields.Field._serialize,
    fields.Boolean._serialize,
)


def not_blank(text: str) -> None:
    """Raise ValidationError for text that is empty or white space."""
    if not text.strip():
        raise ValidationError(BLANK)


def parse_number(value: object) -> float:
    """Read a finite number of JSON; raise ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("not a number") from None
    if not isfinite(number):
        raise ValueError("not a number")
    return number


def parse_decimal(value: object) -> decimal.Decimal:
    """Read a finite decimal from text or a number; raise ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("not a decimal")
    if isinstance(value, int) and abs(value) >= 10**40:
        raise ValueError("not a decimal")
    text = str(value)
    if not DECIMAL.fullmatch(text):
        raise ValueError("not a decimal")
    return decimal.Decimal(text)


def parse_uuid(value: object) -> UUID:
    """Read a UUID in its usual form, in any case; raise ValueError."""
    if not isinstance(value, str) or not UUID_FORM.fullmatch(value):
        raise ValueError("not a UUID")
    return UUID(value)


def unify_messages(field: Field) -> None:
    """Let a field say of a missing value what all do, unless it has a message of its own."""
    usual, messages = fields.Field.default_error_messages, field.error_messages
    blank = {key: BLANK for key in ("required", "null") if messages[key] == usual[key]}
    field.error_messages = {**messages, **blank}


class Schema(marshmallow.Schema):
    """A schema that rejects unknown and read-only properties."""

    error_messages = {
        "unknown": "is not a property of this model",
        "type": "must be an object",
    }

    def on_bind_field(self, field_name: str, field_obj: Field) -> None:
        """Say the same of what is missing, whatever the field's type."""
        unify_messages(field_obj)

    def handle_error(self, error: ValidationError, data: Any, **kwargs: Any) -> None:
        """Report read-only properties as such, not as unknown."""
        found: Any = error.messages_dict
        for messages in found.values() if kwargs["many"] else [found]:
            for name, field in self.fields.items():
                if field.dump_only and (field.data_key or name) in messages:
                    messages[field.data_key or name] = ["is read-only"]


class Text(fields.String):
    """Text of at most `max_length` characters; `multiline` allows tabs and line breaks."""

    default_error_messages = {
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


class ObjectId(Text):
    """An id of MongoDB: 24 hexadecimal digits."""

    def __init__(self, **kwargs: Any) -> None:
        form = validate.Regexp(
            r"[0-9a-f]{24}\Z", error="must be 24 hexadecimal digits, in small letters"
        )
        super().__init__(24, validate=form, **kwargs)

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of an id of MongoDB."""
        return {"pattern": "^[0-9a-f]{24}$", "examples": ["507f1f77bcf86cd799439011"]}


class Integer(fields.Integer):
    """A whole number of 64 bits, the range of an SQL BIGINT."""

    BITS = 64
    default_error_messages = {"invalid": "must be a whole number"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)
        most = 2 ** (self.BITS - 1)
        self.validators.insert(0, validate.Range(-most, most - 1))


class Int32(Integer):
    """A whole number of 32 bits, the range of an SQL INTEGER."""

    BITS = 32


class Parsed(fields.Field[Any]):
    """A field whose values a function reads."""

    @staticmethod
    def parse(value: object) -> Any:
        """Return the value that a client wrote; raise ValueError if it is none."""
        raise NotImplementedError

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.parse(value)
        except ValueError:
            raise self.make_error("invalid") from None


class Number(Parsed):
    """A number, as JavaScript has them: 64 bits of floating point, not infinite."""

    parse = staticmethod(parse_number)
    default_error_messages = {"invalid": "must be a number"}

    def _serialize(self, value: float | None, *args: Any, **kwargs: Any) -> float | None:
        """Return a whole number as such, as JavaScript writes it; SQLite returns either."""
        if value is None or abs(value) > MAX_SAFE or value != int(value):
            return value
        return int(value)


class Boolean(fields.Boolean):
    """True or false; also as the strings "true" and "false", which forms send."""

    truthy = {True, "true"}
    falsy = {False, "false"}
    default_error_messages = {"invalid": "must be true or false"}


class Timestamp(Parsed):
    """A point in time as ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`.

    Clients may write the forms of `parse_time`.
    """

    parse = staticmethod(parse_time)
    default_error_messages = {
        "invalid": "must be a time like 2026-01-02T03:04:05.678Z",
        "fine": "must not be finer than milliseconds",
    }

    def _serialize(self, value: datetime | None, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else iso_time(value)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> datetime:
        time: datetime = super()._deserialize(value, *args, **kwargs)
        if time.microsecond % 1000:
            raise self.make_error("fine")
        return time

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of a point in time."""
        example = "2026-01-02T03:04:05.678Z"
        kind = ["string", "null"] if self.allow_none else "string"
        return {"type": kind, "format": "date-time", "examples": [example]}


class Date(Parsed):
    """A date: `2026-01-02`."""

    parse = staticmethod(parse_date)
    default_error_messages = {
        "invalid": "must be a date like 2026-01-02",
    }

    def _serialize(self, value: date | None, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else value.isoformat()

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of a date."""
        return {"type": "string", "format": "date", "examples": ["2026-01-02"]}


class Decimal(Parsed):
    """An exact decimal, a string in JSON: `"12.50"`. Clients may also write a number.

    `precision` and `scale` are those of the column.
    """

    parse = staticmethod(parse_decimal)
    default_error_messages = {
        "invalid": 'must be a decimal like "12.50"',
        "range": "{problem}",
    }

    def __init__(self, precision: int, scale: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column_type = ExactDecimal(precision, scale)

    def _serialize(self, value: decimal.Decimal | None, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else f"{value:f}"

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> decimal.Decimal:
        number: decimal.Decimal = super()._deserialize(value, *args, **kwargs)
        try:
            return self.column_type.exact(number)
        except ValueError as error:
            raise self.make_error("range", problem=error) from None

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of a decimal."""
        whole, scale = self.column_type.whole_digits, self.column_type.scale
        decimals = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
        pattern = rf"^-?[0-9]{{1,{max(whole, 1)}}}{decimals}$"
        example = f"{self._example():.{scale}f}"
        schema = {"type": "string", "format": "decimal", "pattern": pattern, "examples": [example]}
        choices = self._choices()
        return {**schema, "enum": [f"{each:f}" for each in choices]} if choices else schema

    def _example(self) -> decimal.Decimal:
        """Return a value that the validators accept: the one nearest to 0."""
        if choices := self._choices():
            return choices[0]
        ranges = [each for each in self.validators if isinstance(each, validate.Range)]
        least = [decimal.Decimal(each.min) for each in ranges if each.min is not None]
        most = [decimal.Decimal(each.max) for each in ranges if each.max is not None]
        return min([max([decimal.Decimal(0), *least]), *most])

    def _choices(self) -> list[decimal.Decimal]:
        """Return the values that one of the validators lists."""
        listed = (each.choices for each in self.validators if isinstance(each, validate.OneOf))
        return list(next(listed, ()))


class Uuid(Parsed):
    """A UUID: 32 hexadecimal digits in five groups (RFC 9562 4)."""

    parse = staticmethod(parse_uuid)
    default_error_messages = {
        "invalid": "must be a UUID like 018c5a3e-7d2b-4c1a-9f00-3b1d2e4f5a6b",
    }

    def _serialize(self, value: UUID | None, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of a UUID."""
        example = "018c5a3e-7d2b-4c1a-9f00-3b1d2e4f5a6b"
        return {"type": "string", "format": "uuid", "examples": [example]}


class Enumeration(fields.String):
    """One of several texts; the column is a String."""

    default_error_messages = {"invalid": "must be a string"}

    def __init__(self, *values: str, **kwargs: Any) -> None:
        one_of = validate.OneOf(values, error="must be one of {choices}")
        super().__init__(validate=one_of, **kwargs)
        self.values = values
