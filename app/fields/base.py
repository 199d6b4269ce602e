"""The base class and the fields of the models' marshmallow schemas."""

import decimal
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, ClassVar, Generic, TypedDict, TypeVar, Unpack
from uuid import UUID

import marshmallow
from marshmallow import ValidationError, fields, validate
from marshmallow.types import Validator

from app import ids
from app.database.columns import ExactDecimal
from app.database.ids import IdColumn, RowId
from app.errors import BLANK, READ_ONLY, UNKNOWN_PROPERTY
from app.times import iso_time

from .parsing import parse_date, parse_decimal, parse_number, parse_time, parse_uuid

# The C0 and C1 control characters and DEL; the second pattern allows tab and line breaks.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f]")
CONTROL_EXCEPT_WHITESPACE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

#: The largest whole number in the JSON of a property: JavaScript and both databases hold it exactly
#: (RFC 8259, 6).
MAX_SAFE = 2**53 - 1
#: Characters of a text of a model in JSON, unless its `length` is less: what a pattern of a filter
#: is compared with.
MAX_TEXT = 10_000

Field = fields.Field[Any]
JsonSchema = dict[str, object]
T = TypeVar("T")
# Serializers that return the column's value unchanged.
PASSTHROUGH_SERIALIZERS = (
    fields.String._serialize,
    fields.Integer._serialize,
    fields.Field._serialize,
    fields.Boolean._serialize,
)


class FieldOptions(TypedDict, total=False):
    """The arguments of marshmallow's fields that all fields take."""

    required: bool
    allow_none: bool
    load_default: object
    load_only: bool
    dump_only: bool
    attribute: str
    data_key: str
    validate: Validator | list[Validator]
    metadata: Mapping[str, object]


def not_blank(text: str) -> None:
    """Raise ValidationError for text that is empty or white space; for `validate` of a field."""
    if not text.strip():
        raise ValidationError(BLANK)


def validation_cost(validator: object) -> int:
    """Return how long a validator takes, in the time of loading and storing a value.

    Validators that take long have the attribute `cost`.
    """
    return getattr(validator, "cost", 0)


def unify_messages(field: Field) -> None:
    """Set the common message for a missing value, unless the field has its own."""
    usual, messages = fields.Field.default_error_messages, field.error_messages
    blank = {key: BLANK for key in ("required", "null") if messages[key] == usual[key]}
    field.error_messages = {**messages, **blank}


class Schema(marshmallow.Schema):
    """The base class of marshmallow schemas; it refuses unknown and read-only properties."""

    error_messages = {
        "unknown": UNKNOWN_PROPERTY,
        "type": "must be an object",
    }

    def on_bind_field(self, field_name: str, field_obj: Field) -> None:
        """Use one message for missing values of every field type."""
        unify_messages(field_obj)

    def handle_error(
        self, error: ValidationError, data: object, *, many: bool, **kwargs: object
    ) -> None:
        """Report read-only properties as read-only instead of unknown."""
        found = error.messages_dict
        for messages in found.values() if many else [found]:
            for name, field in self.fields.items():
                if field.dump_only and (field.data_key or name) in messages:
                    messages[field.data_key or name] = [READ_ONLY]


class StrictSchema(Schema):
    """A schema that refuses unknown properties even where COMPATIBILITY ignores them."""


class Text(fields.String):
    """Text of at most `max_length` characters; `multiline` allows tabs and line breaks."""

    default_error_messages = {
        "invalid": "must be a string",
        "control": "has a control character",
        "long": "is too long (maximum is {max_length} characters)",
    }

    def __init__(
        self, max_length: int, multiline: bool = False, **options: Unpack[FieldOptions]
    ) -> None:
        super().__init__(**options)
        self.max_length = max_length
        self.forbidden = CONTROL_EXCEPT_WHITESPACE if multiline else CONTROL_CHARACTERS

    def _deserialize(
        self, value: object, attr: str | None, data: Mapping[str, object] | None, **kwargs: object
    ) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        if len(text) > self.max_length:
            raise self.make_error("long", max_length=self.max_length)
        if self.forbidden.search(text):
            raise self.make_error("control")
        return text

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords that apispec cannot derive from the field."""
        non_blank = {"pattern": r"\S"} if not_blank in self.validators else {}
        return {"maxLength": self.max_length, **non_blank}


class ObjectIdField(Text):
    """An id of MongoDB: 24 hexadecimal digits."""

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        form = validate.Regexp(
            r"[0-9a-f]{24}\Z", error="must be 24 hexadecimal digits, in small letters"
        )
        options["validate"] = form
        super().__init__(24, **options)

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of an id of MongoDB."""
        return {"pattern": "^[0-9a-f]{24}$", "examples": ["507f1f77bcf86cd799439011"]}


class Id(fields.Field[ids.Id]):
    """The id of a row, in the type of its column; by default in the form of ID_TYPE."""

    default_error_messages = {"invalid": "must be {form}"}

    def __init__(
        self, column_type: IdColumn | type[IdColumn] = RowId, **options: Unpack[FieldOptions]
    ) -> None:
        super().__init__(**options)
        self.column_type = column_type() if isinstance(column_type, type) else column_type

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> ids.Id:
        form = self.column_type.form
        if value == "" and form.python_type is str and not self.allow_none:
            raise self.make_error("null")
        id = form.parse_json(value)
        if id is None:
            raise self.make_error("invalid", form=form.description)
        return id

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of an id; without an example if clients may omit it."""
        schema: JsonSchema = dict(self.column_type.form.json_schema)
        if not self.dump_only and not self.required:
            del schema["examples"]
        return schema


class Integer(fields.Integer):
    """A whole number of 64 bits, the range of an SQL BIGINT."""

    BITS = 64
    default_error_messages = {"invalid": "must be a whole number"}

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(strict=True, **options)
        most = 2 ** (self.BITS - 1)
        self.validators.insert(0, validate.Range(-most, most - 1))

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords that apispec cannot derive from the field."""
        return {"format": f"int{self.BITS}"}


class Int32(Integer):
    """A whole number of 32 bits, the range of an SQL INTEGER."""

    BITS = 32


class Parsed(fields.Field[T], Generic[T]):
    """A field with functions that convert to and from JSON."""

    # JSON Schema keywords that apispec cannot derive from the field.
    JSON_SCHEMA: ClassVar[JsonSchema] = {}

    @staticmethod
    def parse(value: object) -> T:
        """Return the value that a client has sent; raise ValueError if it is invalid."""
        raise NotImplementedError

    @staticmethod
    def write(value: T, /) -> object:
        """Return the JSON value of a stored value, which is not None."""
        return value

    def _serialize(self, value: T | None, *args: object, **kwargs: object) -> object:
        return None if value is None else self.write(value)

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> T:
        try:
            return self.parse(value)
        except ValueError:
            raise self.make_error("invalid") from None

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of the field."""
        return dict(self.JSON_SCHEMA)


class Number(Parsed[float]):
    """A number as in JavaScript: a finite 64-bit floating-point number."""

    parse = staticmethod(parse_number)
    default_error_messages = {"invalid": "must be a number"}

    @staticmethod
    def write(value: float, /) -> float:
        """Return whole numbers as int, as JavaScript writes them; SQLite returns either type."""
        return value if abs(value) > MAX_SAFE or value != int(value) else int(value)


class Boolean(fields.Boolean):
    """True or false; also the strings "true" and "false", which forms send."""

    truthy = {True, "true"}
    falsy = {False, "false"}
    default_error_messages = {"invalid": "must be true or false"}


class Timestamp(Parsed[datetime]):
    """A point in time as ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`.

    Clients may also send milliseconds since 1970, RFC 2822, or JavaScript's `toString` format.
    Smaller units are dropped.
    """

    parse, write = staticmethod(parse_time), staticmethod(iso_time)
    default_error_messages = {
        "invalid": "must be a time like 2026-01-02T03:04:05.678Z",
    }
    JSON_SCHEMA = {
        "type": "string",
        "format": "date-time",
        "examples": ["2026-01-02T03:04:05.678Z"],
    }


class Date(Parsed[date]):
    """A date: `2026-01-02`."""

    parse, write = staticmethod(parse_date), staticmethod(date.isoformat)
    default_error_messages = {"invalid": "must be a date like 2026-01-02"}
    JSON_SCHEMA = {"type": "string", "format": "date", "examples": ["2026-01-02"]}


class Decimal(Parsed[decimal.Decimal]):
    """An exact decimal, a string in JSON: `"12.50"`. Clients may also send a number.

    `precision` and `scale` are those of the column.
    """

    parse, write = staticmethod(parse_decimal), staticmethod("{:f}".format)
    default_error_messages = {
        "invalid": 'must be a decimal like "12.50"',
        "range": "{problem}",
    }

    def __init__(self, precision: int, scale: int, **options: Unpack[FieldOptions]) -> None:
        super().__init__(**options)
        self.column_type = ExactDecimal(precision, scale)

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> decimal.Decimal:
        number = super()._deserialize(value, *args, **kwargs)
        try:
            return self.column_type.exact(number)
        except ValueError as error:
            raise self.make_error("range", problem=error) from None

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of a decimal."""
        whole, scale = self.column_type.whole_digits, self.column_type.scale
        decimals = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
        pattern = rf"^-?[0-9]{{1,{max(whole, 1)}}}{decimals}$"
        example = f"{self._example():.{scale}f}"
        choices = [f"{choice:f}" for choice in self._choices()]
        return {
            "type": "string",
            "format": "decimal",
            "pattern": pattern,
            "examples": [example],
            **({"enum": choices} if choices else {}),
        }

    def _example(self) -> decimal.Decimal:
        """Return a value that the validators accept: the one nearest to 0."""
        if choices := self._choices():
            return choices[0]
        ranges = [bounds for bounds in self.validators if isinstance(bounds, validate.Range)]
        least = [decimal.Decimal(bounds.min) for bounds in ranges if bounds.min is not None]
        most = [decimal.Decimal(bounds.max) for bounds in ranges if bounds.max is not None]
        return min([max([decimal.Decimal(0), *least]), *most])

    def _choices(self) -> list[decimal.Decimal]:
        """Return the values listed by one of the validators."""
        listed = (
            one_of.choices for one_of in self.validators if isinstance(one_of, validate.OneOf)
        )
        return list(next(listed, ()))


class Uuid(Parsed[UUID]):
    """A UUID: 32 hexadecimal digits in five groups (RFC 9562 4)."""

    parse, write = staticmethod(parse_uuid), staticmethod(str)
    EXAMPLE = "018c5a3e-7d2b-4c1a-9f00-3b1d2e4f5a6b"
    default_error_messages = {"invalid": f"must be a UUID like {EXAMPLE}"}
    JSON_SCHEMA = {"type": "string", "format": "uuid", "examples": [EXAMPLE]}


class Enumeration(fields.String):
    """One of several texts, stored in a String column."""

    default_error_messages = {"invalid": "must be a string"}

    def __init__(self, *values: str, **options: Unpack[FieldOptions]) -> None:
        options["validate"] = validate.OneOf(values, error="must be one of {choices}")
        super().__init__(**options)
        self.values = values
