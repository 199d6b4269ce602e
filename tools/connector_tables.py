"""The tables of `docs/connector.md`: the keys of the settings, the options and the errors."""

import json
import re
from collections.abc import Iterator, Mapping

from marshmallow import Schema, fields

from app.connector import ConnectorError
from app.connector.settings.options import (
    AUTH,
    OPTIONS,
    PAGINATE,
    PAGINATE_STYLES,
    TEMPLATE,
    Option,
)
from app.connector.settings.schema import (
    AnyField,
    Choice,
    DataSourceSettings,
    Flag,
    ListOf,
    OptionsSettings,
    TemplateSettings,
    Timeout,
    TypedField,
    WholeNumber,
)

Rows = list[tuple[object, ...]]

KEY_COLUMNS = ("Key", "Type", "Default", "Meaning")

# The keys of each table in their order, with the meaning of those without a default.
SOURCE = {
    "connector": "required only by LoopBack 3",
    "name": "not used; the name is the key in the file",
    "debug": "log a line for each call, at level DEBUG; false by default",
    "crud": "accepted, without effect: resources are always available",
    "compatibility": "with `loopback3`, surplus arguments are ignored, see [functions](#functions)",
    "responseSelect": "the `responseSelect` of templates that have none",
    "public": "serve the functions as endpoints; false by default",
    "requestIdHeader": "the header with the id of the request for which a call is made; in the"
    " service `X-Request-Id` by default",
    "acls": "who may call these endpoints; by default all logged-in users",
    "options": "options of all operations, see [options](#options); they may also be beside the"
    " keys of this table",
    "defaults": "options that all others override",
    "operations": "objects of `template` and `functions`",
}
TEMPLATE_KEYS = {
    "method": "",
    "url": "",
    "headers": "headers",
    "query": "the query; entries without a value are omitted",
    "body": "the body, sent as JSON unless `Content-Type` says otherwise",
    "form": "the body in the form of HTML forms",
    "files": "parts of a multipart body; the values are bytes or files opened in binary mode",
    "json": "the option `json`",
    "timeout": "the option `timeout`",
    "options": "options of this operation, see [options](#options)",
    "responsePath": "JSONPath of the part of the body to return",
    **dict.fromkeys(("responseSelect", "onNoMatch", "fullResponse", "omitMissing"), ""),
    "variables": "more about variables, by name",
    "paginate": "how to request the next page, see [pagination](#pagination)",
}
VARIABLE = {
    "type": "a type of the table above; without one, everything is accepted",
    "default": "the value if a call passes none",
    "required": "whether a call must pass a value; `!` or `^` before the name means the same",
    "doc": "shown by `ostiary datasources show` and in the OpenAPI document",
    "enum": "the allowed values",
    "secret": "whether values are masked wherever they are shown; those from `$env` always are",
}
AUTH_KEYS = {
    "user": "the user name of Basic authorization",
    "pass": "",
    "bearer": "the token of Bearer authorization",
    "apiKey": "a key in a header or in the query",
    "name": "",
    "in": "",
    "oauth2": "OAuth 2 client credentials, see below",
    "oauth2.tokenUrl": "the URL from which access tokens are requested",
    "oauth2.clientId": "the id of the client",
    "oauth2.clientSecret": "the secret of the client",
    "oauth2.scope": "the scope to request",
}
PAGINATE_KEYS = {
    "type": "how the next page is requested, see above",
    "path": "JSONPath in the body, required for `next` and `cursor`",
    "param": "the query entry that selects a page",
    "limitParam": "",
    "limit": "items of a page; `page` and `offset` stop at a shorter page",
    "start": "its first value",
    "items": "JSONPath of the list whose items are counted; by default the result",
    "maxPages": "",
}


def source_keys() -> Rows:
    """Return the keys of a data source that are not options."""
    known = DataSourceSettings().fields
    own = {name: field for name, field in known.items() if name not in _OPTIONS}
    return list(_keys(own, {}, SOURCE))


def template_keys() -> Rows:
    """Return the keys of a template."""
    return list(_keys(TemplateSettings().fields, TEMPLATE, TEMPLATE_KEYS))


def variable_keys() -> Rows:
    """Return the keys of an entry of `variables`."""
    return list(_keys(_below(TemplateSettings().fields["variables"]), {}, VARIABLE))


def auth_keys() -> Rows:
    """Return the keys of `auth`."""
    return list(_keys(_flat(_below(_OPTIONS["auth"])), AUTH, AUTH_KEYS))


def paginate_keys() -> Rows:
    """Return the keys of `paginate`."""
    return list(_keys(_below(TemplateSettings().fields["paginate"]), PAGINATE, PAGINATE_KEYS))


def options() -> Rows:
    """Return the options of calls."""
    known = _flat(_OPTIONS)
    return [
        (f"`{name}`", _type(known[name]), _default(option.value), option.meaning)
        for name, option in OPTIONS.items()
    ]


def errors() -> Rows:
    """Return the classes of errors below ConnectorError."""
    return [
        (f"`{kind.__name__}`", _bases(kind), f"`{kind.kind}`", _sentence(kind))
        for kind in _subclasses(ConnectorError)
    ]


def _bases(kind: type[ConnectorError]) -> str:
    return ", ".join(f"`{base.__name__}`" for base in kind.__bases__)


def _subclasses(kind: type[ConnectorError]) -> Iterator[type[ConnectorError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _sentence(kind: type[ConnectorError]) -> str:
    first = (kind.__doc__ or "").splitlines()[0].removesuffix(".")
    return first[0].lower() + first[1:]


def _keys(
    known: Mapping[str, AnyField],
    defaults: Mapping[str, Option],
    meanings: Mapping[str, str],
) -> Iterator[tuple[object, ...]]:
    if different := known.keys() ^ meanings.keys():
        raise LookupError(f"keys without a meaning, or meanings without a key: {different}")
    for name in meanings:
        field = known[name]
        value, meaning = defaults.get(name) or (None, meanings[name])
        default = "required" if field.required else _default(value) or _style_defaults(name)
        yield f"`{name}`", _type(field), default, meaning


def _style_defaults(name: str) -> str:
    """Return the defaults that a key of `paginate` has for some of its types."""
    styles = PAGINATE_STYLES.items()
    return ", ".join(
        f"{style}: `{defaults[name]}`" for style, defaults in styles if name in defaults
    )


def _below(field: AnyField) -> dict[str, AnyField]:
    """Return the fields of the object, or objects, in a field; empty for other values."""
    schema = getattr(field, "schema", None)
    known = schema() if isinstance(schema, type) else schema
    return known.fields if isinstance(known, Schema) else {}


def _flat(known: Mapping[str, AnyField]) -> dict[str, AnyField]:
    """Return fields and those of their objects, by names such as `retry.maxAttempts`."""
    flat: dict[str, AnyField] = {}
    for name, field in known.items():
        flat[name] = field
        flat |= {f"{name}.{key}": below for key, below in _below(field).items()}
    return flat


def _type(field: AnyField) -> str:
    if isinstance(field, Choice):
        return " or ".join(f"`{word}`" for word in field.words)
    if isinstance(field, WholeNumber):
        return f"whole number from {field.least} on"
    if isinstance(field, TypedField):
        return re.sub(r"\ban? ", "", field.phrase).replace("string", "text")
    if isinstance(field, ListOf):
        return f"list of {_type(field.inner)}".replace("number", "numbers")
    return next((text for kind, text in _TYPES.items() if isinstance(field, kind)), "object")


def _default(value: object) -> str:
    return f"`{json.dumps(value)}`" if value not in (None, {}, (), "") else ""


_TYPES: dict[type[AnyField], str] = {
    Flag: "boolean",
    Timeout: "whole number or object",
    fields.Raw: "any",
}
_OPTIONS = OptionsSettings().fields
