"""The schema of the settings of a data source; messages say what was expected and what found."""

from contextlib import suppress
from typing import Any, TypeAlias

from marshmallow import Schema, ValidationError, fields, pre_load

from app.connector.errors import translate_errors
from app.connector.types import JsonObject, JsonValue
from app.connector.values import EnvText, boolean, integer
from app.problems import suggest, type_name

from .options import OPTIONS, PAGINATE_STYLES

AnyField: TypeAlias = fields.Field[Any]


def _unexpected(phrase: str, value: object) -> ValidationError:
    return ValidationError(f"must be {phrase}, got {type_name(value)}")


class TypedField(fields.Field[JsonValue]):
    """A value of one of the given Python types."""

    def __init__(self, phrase: str, *types: type, required: bool = False) -> None:
        super().__init__(required=required)
        self.phrase = phrase
        self.types = types

    def _deserialize(self, value: object, *_args: object, **_options: object) -> JsonValue:
        if not isinstance(value, self.types):
            raise _unexpected(self.phrase, value)
        return value


def string_field(*, required: bool = False) -> TypedField:
    """Return a field for a string."""
    return TypedField("a string", str, required=required)


def object_field() -> TypedField:
    """Return a field for an object with any entries."""
    return TypedField("an object", dict)


class Flag(fields.Field[bool]):
    """True or false, also as a string; with `strict`, strings only from the environment."""

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self.types = (bool, EnvText if strict else str)

    def _deserialize(self, value: object, *_args: object, **_options: object) -> bool:
        with suppress(ValueError):
            if isinstance(value, self.types):
                return boolean(value)
        raise ValidationError("must be true or false")


class WholeNumber(fields.Field[int]):
    """An integer of at least `least`."""

    def __init__(self, *, least: int = 0) -> None:
        super().__init__()
        self.least = least

    def _deserialize(self, value: object, *_args: object, **_options: object) -> int:
        phrase = f"a whole number from {self.least} on"
        with translate_errors(ValueError, lambda _: _unexpected(phrase, value)):
            found = integer(value)
        if found < self.least:
            raise ValidationError(f"must be {phrase}, got {found}")
        return found


class Choice(fields.Field[str]):
    """One of the given words."""

    def __init__(self, *words: str, required: bool = False) -> None:
        super().__init__(required=required)
        self.words = words

    def _deserialize(self, value: object, *_args: object, **_options: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            hint = suggest(value, self.words) if isinstance(value, str) else ""
            raise ValidationError(f"must be one of {', '.join(self.words)}{hint}")
        return value


class ListOf(fields.List[JsonValue]):
    """A list."""

    def _deserialize(self, value: object, *args: object, **options: object) -> list[JsonValue]:
        if not isinstance(value, list):
            raise _unexpected("a list", value)
        return super()._deserialize(value, *args, **options)


class MapOf(fields.Field[JsonObject]):
    """An object whose values all follow one schema."""

    def __init__(self, schema: type[Schema]) -> None:
        super().__init__()
        self.schema = schema()

    def _deserialize(self, value: object, *_args: object, **_options: object) -> JsonObject:
        if not isinstance(value, dict):
            raise _unexpected("an object", value)
        errors = {
            key: found for key, item in value.items() if (found := self.schema.validate(item))
        }
        if errors:
            raise ValidationError(errors)
        return {key: self.schema.load(item) for key, item in value.items()}


class ObjectSchema(Schema):
    """An object of settings."""

    @pre_load
    def _must_be_object(self, data: object, **_options: object) -> object:
        if not isinstance(data, dict):
            raise _unexpected("an object", data)
        return data


def strings(*names: str, required: bool = False) -> dict[str, AnyField]:
    """Return fields for strings by their names."""
    return {name: string_field(required=required) for name in names}


def flags(*names: str) -> dict[str, AnyField]:
    """Return fields for booleans by their names."""
    return {name: Flag() for name in names}


def numbers(**least: int) -> dict[str, AnyField]:
    """Return fields for integers by their names, each with its minimum."""
    return {name: WholeNumber(least=number) for name, number in least.items()}


def _schema(*groups: dict[str, AnyField], **known: AnyField) -> type[Schema]:
    """Return the schema of an object of settings."""
    every = {name: field for group in (*groups, known) for name, field in group.items()}
    return ObjectSchema.from_dict(dict(every), name="SettingsPart")


_Timeouts = _schema(numbers(connect=1, read=1, total=1))


class Timeout(fields.Field[dict[str, int]]):
    """Milliseconds, or an object of time-outs."""

    schema = _Timeouts()

    def _deserialize(self, value: object, *_args: object, **_options: object) -> dict[str, int]:
        if isinstance(value, dict):
            loaded: dict[str, int] = self.schema.load(value)
            return loaded
        read = WholeNumber(least=1).deserialize(value)
        return {"connect": min(read, OPTIONS["timeout.connect"].value), "read": read}


_Retry = _schema(
    numbers(maxAttempts=1, maxDelay=0),
    statuses=ListOf(WholeNumber(least=100)),
    methods=ListOf(string_field()),
    respectRetryAfter=Flag(),
)
_OAuth2 = _schema(
    strings("tokenUrl", "clientId", "clientSecret", required=True), scope=string_field()
)
_Auth = _schema(
    strings("user", "pass", "bearer", "apiKey", "name"),
    {"in": Choice("header", "query")},
    oauth2=fields.Nested(_OAuth2),
)
_OPTIONS: dict[str, AnyField] = {
    **strings("baseURL", "ca", "cert", "key", "proxy"),
    **flags("followRedirect", "followAllRedirects", "useQuerystring", "json"),
    **numbers(maxRedirects=0, maxResponseBytes=1, maxResponseValues=1),
    "headers": object_field(),
    "query": object_field(),
    "auth": fields.Nested(_Auth),
    "timeout": Timeout(),
    "retry": fields.Nested(_Retry),
    "strictSSL": Flag(strict=True),
    "pool": fields.Nested(_schema(numbers(maxSockets=1, maxConcurrent=1))),
    "allowedHosts": ListOf(string_field()),
    # Always on; accepted because LoopBack 3 settings contain them.
    "gzip": fields.Raw(),
    "forever": fields.Raw(),
}

OptionsSettings = _schema(_OPTIONS)

_Variable = _schema(
    strings("type", "doc"),
    flags("required", "secret"),
    default=fields.Raw(allow_none=True),
    enum=TypedField("a list", list),
)
_Paginate = _schema(
    strings("path", "param", "limitParam", "items"),
    numbers(limit=1, start=0, maxPages=1),
    type=Choice(*PAGINATE_STYLES, required=True),
)
_SELECT = Choice("all", "first", "auto")

TemplateSettings = _schema(
    strings("method", "url", "responsePath"),
    flags("json", "fullResponse", "omitMissing"),
    headers=object_field(),
    query=TypedField("an object", dict, str),
    body=fields.Raw(allow_none=True),
    form=TypedField("an object or a string", dict, str),
    files=object_field(),
    timeout=Timeout(),
    options=fields.Nested(OptionsSettings),
    responseSelect=_SELECT,
    onNoMatch=Choice("empty", "null", "error"),
    variables=MapOf(_Variable),
    paginate=fields.Nested(_Paginate),
)

OperationSettings = _schema(
    template=fields.Raw(allow_none=True), functions=TypedField("an object of lists", dict)
)

DataSourceSettings = _schema(
    _OPTIONS,
    strings("name", "requestIdHeader"),
    flags("debug", "crud"),
    connector=Choice("rest", "loopback-connector-rest"),
    compatibility=Choice("none", "loopback3"),
    responseSelect=_SELECT,
    public=Flag(strict=True),
    acls=TypedField("a list", list),
    options=fields.Nested(OptionsSettings),
    defaults=fields.Nested(OptionsSettings),
    operations=TypedField("a list", list),
)
