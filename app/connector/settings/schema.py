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
    object_field,
    string_field,
)
from .options import OPTIONS, PAGINATE_STYLES


def _schema(**known: AnyField) -> type[Schema]:
    return ObjectSchema.from_dict(dict(known), name="SettingsPart")


_Timeouts = _schema(
    connect=WholeNumber(least=1), read=WholeNumber(least=1), total=WholeNumber(least=1)
)


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
    maxAttempts=WholeNumber(least=1),
    statuses=ListOf(WholeNumber(least=100)),
    methods=ListOf(string_field()),
    maxDelay=WholeNumber(),
    respectRetryAfter=Flag(),
)

_OAuth2 = _schema(
    tokenUrl=string_field(required=True),
    clientId=string_field(required=True),
    clientSecret=string_field(required=True),
    scope=string_field(),
)

_Auth = ObjectSchema.from_dict(
    {
        "user": string_field(),
        "pass": string_field(),
        "bearer": string_field(),
        "apiKey": string_field(),
        "name": string_field(),
        "in": Choice("header", "query"),
        "oauth2": fields.Nested(_OAuth2),
    },
    name="Auth",
)

_Pool = _schema(maxSockets=WholeNumber(least=1), maxConcurrent=WholeNumber(least=1))

_OPTIONS: dict[str, AnyField] = {
    "baseURL": string_field(),
    "headers": object_field(),
    "query": object_field(),
    "auth": fields.Nested(_Auth),
    "timeout": Timeout(),
    "retry": fields.Nested(_Retry),
    "strictSSL": Flag(strict=True),
    "ca": string_field(),
    "cert": string_field(),
    "key": string_field(),
    "proxy": string_field(),
    "pool": fields.Nested(_Pool),
    "followRedirect": Flag(),
    "followAllRedirects": Flag(),
    "maxRedirects": WholeNumber(),
    "useQuerystring": Flag(),
    "json": Flag(),
    "allowedHosts": ListOf(string_field()),
    "maxResponseBytes": WholeNumber(least=1),
    "maxResponseValues": WholeNumber(least=1),
    # Always on; accepted because settings of LoopBack 3 have them.
    "gzip": fields.Raw(),
    "forever": fields.Raw(),
}

OptionsSettings = ObjectSchema.from_dict(_OPTIONS, name="OptionsSettings")

_Variable = _schema(
    type=string_field(),
    default=fields.Raw(allow_none=True),
    required=Flag(),
    doc=string_field(),
    enum=TypedField("a list", list),
    secret=Flag(),
)

_SELECT = Choice("all", "first", "auto")

_Paginate = _schema(
    type=Choice(*PAGINATE_STYLES, required=True),
    path=string_field(),
    param=string_field(),
    limitParam=string_field(),
    limit=WholeNumber(least=1),
    start=WholeNumber(),
    items=string_field(),
    maxPages=WholeNumber(least=1),
)

TemplateSettings = _schema(
    method=string_field(),
    url=string_field(),
    headers=object_field(),
    query=TypedField("an object", dict, str),
    body=fields.Raw(allow_none=True),
    form=TypedField("an object or a string", dict, str),
    files=object_field(),
    json=Flag(),
    timeout=Timeout(),
    options=fields.Nested(OptionsSettings),
    responsePath=string_field(),
    responseSelect=_SELECT,
    onNoMatch=Choice("empty", "null", "error"),
    fullResponse=Flag(),
    omitMissing=Flag(),
    variables=MapOf(_Variable),
    paginate=fields.Nested(_Paginate),
)

OperationSettings = _schema(
    template=fields.Raw(allow_none=True), functions=TypedField("an object of lists", dict)
)

_OWN: dict[str, AnyField] = {
    "connector": Choice("rest", "loopback-connector-rest"),
    "name": string_field(),
    "debug": Flag(),
    "crud": Flag(),
    "compatibility": Choice("none", "loopback3"),
    "responseSelect": _SELECT,
    "public": Flag(strict=True),
    "requestIdHeader": string_field(),
    "acls": TypedField("a list", list),
    "options": fields.Nested(OptionsSettings),
    "defaults": fields.Nested(OptionsSettings),
    "operations": TypedField("a list", list),
}

DataSourceSettings = ObjectSchema.from_dict({**_OPTIONS, **_OWN}, name="DataSourceSettings")
