"""The schema of the settings of a data source."""

from marshmallow import Schema, fields

from .fields import (
    AnyField,
    Choice,
    Flag,
    ListOf,
    MapOf,
    ObjectSchema,
    TypedField,
    WholeNumber,
    flags,
    numbers,
    object_field,
    string_field,
    strings,
)
from .options import OPTIONS, PAGINATE_STYLES


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
