"""The schema of the settings of a data source."""

from typing import Any

from marshmallow import Schema, fields

from .fields import (
    Boolean,
    Choice,
    ListOf,
    MapOf,
    NonNegativeInt,
    Settings,
    TypedField,
    object_field,
    string_field,
)
from .options import OPTIONS, PAGINATE_STYLES


def _schema(**known: fields.Field[Any]) -> type[Schema]:
    return Settings.from_dict(dict(known), name="SettingsPart")


_Timeouts = _schema(
    connect=NonNegativeInt(least=1), read=NonNegativeInt(least=1), total=NonNegativeInt(least=1)
)


class Timeout(fields.Field[dict[str, int]]):
    """Milliseconds, or an object of time-outs."""

    schema = _Timeouts()

    def _deserialize(self, value: Any, *args: Any, **options: Any) -> dict[str, int]:
        if isinstance(value, dict):
            loaded: dict[str, int] = self.schema.load(value)
            return loaded
        read = NonNegativeInt(least=1)._deserialize(value, *args, **options)
        return {"connect": min(read, OPTIONS["timeout.connect"].value), "read": read}


_Retry = _schema(
    maxAttempts=NonNegativeInt(least=1),
    statuses=ListOf(NonNegativeInt(least=100)),
    methods=ListOf(string_field()),
    maxDelay=NonNegativeInt(),
    respectRetryAfter=Boolean(),
)

_OAuth2 = _schema(
    tokenUrl=TypedField("a string", str, required=True),
    clientId=TypedField("a string", str, required=True),
    clientSecret=TypedField("a string", str, required=True),
    scope=string_field(),
)

_Auth = Settings.from_dict(
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

_Pool = _schema(maxSockets=NonNegativeInt(least=1), maxConcurrent=NonNegativeInt(least=1))

_OPTIONS: dict[str, fields.Field[Any]] = {
    "baseURL": string_field(),
    "headers": object_field(),
    "query": object_field(),
    "auth": fields.Nested(_Auth),
    "timeout": Timeout(),
    "retry": fields.Nested(_Retry),
    "strictSSL": Boolean(strict=True),
    "ca": string_field(),
    "cert": string_field(),
    "key": string_field(),
    "proxy": string_field(),
    "pool": fields.Nested(_Pool),
    "followRedirect": Boolean(),
    "followAllRedirects": Boolean(),
    "maxRedirects": NonNegativeInt(),
    "useQuerystring": Boolean(),
    "json": Boolean(),
    "allowedHosts": ListOf(string_field()),
    "maxResponseBytes": NonNegativeInt(least=1),
    "maxResponseValues": NonNegativeInt(least=1),
    # Always on; accepted because settings of LoopBack 3 have them.
    "gzip": fields.Raw(),
    "forever": fields.Raw(),
}

OptionsSettings = Settings.from_dict(_OPTIONS, name="OptionsSettings")

_Variable = _schema(
    type=string_field(),
    default=fields.Raw(allow_none=True),
    required=Boolean(),
    doc=string_field(),
    enum=TypedField("a list", list),
    secret=Boolean(),
)

_SELECT = Choice("all", "first", "auto")

_Paginate = _schema(
    type=Choice(*PAGINATE_STYLES, required=True),
    path=string_field(),
    param=string_field(),
    limitParam=string_field(),
    limit=NonNegativeInt(least=1),
    start=NonNegativeInt(),
    items=string_field(),
    maxPages=NonNegativeInt(least=1),
)

TemplateSettings = _schema(
    method=string_field(),
    url=string_field(),
    headers=object_field(),
    query=TypedField("an object", dict, str),
    body=fields.Raw(allow_none=True),
    form=TypedField("an object or a string", dict, str),
    files=object_field(),
    json=Boolean(),
    timeout=Timeout(),
    options=fields.Nested(OptionsSettings),
    responsePath=string_field(),
    responseSelect=_SELECT,
    onNoMatch=Choice("empty", "null", "error"),
    fullResponse=Boolean(),
    omitMissing=Boolean(),
    variables=MapOf(_Variable),
    paginate=fields.Nested(_Paginate),
)

OperationSettings = _schema(template=fields.Raw(allow_none=True), functions=fields.Raw())

_OWN: dict[str, fields.Field[Any]] = {
    "connector": Choice("rest", "loopback-connector-rest"),
    "name": string_field(),
    "debug": Boolean(),
    "crud": Boolean(),
    "compatibility": Choice("none", "loopback3"),
    "responseSelect": _SELECT,
    "public": Boolean(strict=True),
    "requestIdHeader": string_field(),
    "acls": TypedField("a list", list),
    "options": fields.Nested(OptionsSettings),
    "defaults": fields.Nested(OptionsSettings),
    "operations": TypedField("a list", list),
}

DataSourceSettings = Settings.from_dict({**_OPTIONS, **_OWN}, name="DataSourceSettings")
