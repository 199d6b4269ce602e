"""The settings of a data source: which keys there are and what each may hold."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from app.connector.values import READERS

from .fields import Amount, Choice, Each, Flag, Items, Kind, Settings, mapping, text

_CONNECT_LIMIT = 5000


def _schema(**known: fields.Field[Any]) -> type[Schema]:
    return Settings.from_dict(dict(known), name="SettingsPart")


_Timeouts = _schema(connect=Amount(least=1), read=Amount(least=1), total=Amount(least=1))


class Timeout(fields.Field[dict[str, int]]):
    """Milliseconds, or an object of time-outs."""

    def _deserialize(self, value: Any, *args: Any, **options: Any) -> dict[str, int]:
        if isinstance(value, dict):
            loaded: dict[str, int] = _Timeouts().load(value)
            return loaded
        read = Amount(least=1)._deserialize(value, *args, **options)
        return {"connect": min(read, _CONNECT_LIMIT), "read": read}


_Retry = _schema(
    maxAttempts=Amount(least=1),
    statuses=Items(Amount(least=100)),
    methods=Items(text()),
    maxDelay=Amount(),
    respectRetryAfter=Flag(),
)

_OAuth2 = _schema(
    tokenUrl=Kind("a text", str, required=True),
    clientId=Kind("a text", str, required=True),
    clientSecret=Kind("a text", str, required=True),
    scope=text(),
)

_Auth = Settings.from_dict(
    {
        "user": text(),
        "pass": text(),
        "bearer": text(),
        "apiKey": text(),
        "name": text(),
        "in": Choice("header", "query"),
        "oauth2": fields.Nested(_OAuth2),
    },
    name="Auth",
)

_Pool = _schema(maxSockets=Amount(least=1))

_OPTIONS: dict[str, fields.Field[Any]] = {
    "headers": mapping(),
    "query": mapping(),
    "qs": mapping(),
    "auth": fields.Nested(_Auth),
    "timeout": Timeout(),
    "retry": fields.Nested(_Retry),
    "strictSSL": Flag(),
    "ca": text(),
    "cert": text(),
    "key": text(),
    "clientCert": text(),
    "clientKey": text(),
    "proxy": text(),
    "pool": fields.Nested(_Pool),
    "followRedirect": Flag(),
    "followAllRedirects": Flag(),
    "maxRedirects": Amount(),
    "useQuerystring": Flag(),
    "json": Flag(),
    "allowedHosts": Items(text()),
    "maxResponseBytes": Amount(least=1),
    # Always on here; accepted because LoopBack settings carry them.
    "gzip": Flag(),
    "forever": Flag(),
}

OptionsSettings = Settings.from_dict(_OPTIONS, name="OptionsSettings")

_Variable = _schema(
    type=Choice(*READERS),
    default=fields.Raw(allow_none=True),
    required=Flag(),
    doc=text(),
    enum=Kind("a list", list),
    secret=Flag(),
)

_Paginate = Settings.from_dict(
    {
        "type": Choice("link", "next", "page", "offset", "cursor", required=True),
        "path": text(),
        "param": text(),
        "limitParam": text(),
        "limit": Amount(least=1),
        "start": Amount(),
        "items": text(),
        "maxPages": Amount(least=1),
    },
    name="Paginate",
)

TemplateSettings = _schema(
    method=text(),
    url=text(),
    headers=mapping(),
    query=Kind("an object", dict, str),
    body=fields.Raw(allow_none=True),
    form=Kind("an object or a text", dict, str),
    files=mapping(),
    json=Flag(),
    timeout=Timeout(),
    options=fields.Nested(OptionsSettings),
    responsePath=text(),
    responseSelect=Choice("auto", "all", "first"),
    onNoMatch=Choice("empty", "null", "error"),
    fullResponse=Flag(),
    omitMissing=Flag(),
    variables=Each(_Variable),
    paginate=fields.Nested(_Paginate),
)

OperationSettings = _schema(template=fields.Raw(allow_none=True), functions=fields.Raw())

_OWN: dict[str, fields.Field[Any]] = {
    "connector": Choice("rest", "loopback-connector-rest"),
    "name": text(),
    "debug": Flag(text_too=True),
    "baseURL": text(),
    "restPath": text(),
    "crud": Flag(),
    "public": Flag(),
    "acls": Kind("a list", list),
    "options": fields.Nested(OptionsSettings),
    "defaults": fields.Nested(OptionsSettings),
    "operations": Kind("a list", list),
}

OPTION_NAMES = frozenset(_OPTIONS)
DATA_SOURCE_KEYS = frozenset(_OWN) | OPTION_NAMES
DataSourceSettings = Settings.from_dict({**_OPTIONS, **_OWN}, name="DataSourceSettings")
