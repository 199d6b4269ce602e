"""Adapting settings written for LoopBack 3; each difference is a warning."""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

from marshmallow import Schema, fields

from app.connector.types import JsonObject, JsonValue
from app.problems import Problems, join_path, suggest, type_name

from .schema import AnyField, MapOf

# The keys that others are read as; those of the second table without a warning.
ALIASES = {"baseUrl": "baseURL", "restPath": "baseURL", "username": "user", "password": "pass"}
OTHER_NAMES = {"qs": "query", "clientCert": "cert", "clientKey": "key"}
# Keys of LoopBack 3 that have no effect here.
IGNORED = {
    "agentOptions": "use `ca`, `cert` and `key`",
    "attachments": "no file of this machine is sent; use `files`",
    "doc": "describe variables by `doc` in `variables`",
    "functions": "they are not defined; `functions` belongs beside `template`",
    "jar": "no cookies are kept",
    "rejectUnauthorized": "certificates are checked unless `strictSSL` is false",
    "sendImmediately": "credentials are always sent with the first request",
    "time": "hooks see `elapsed`",
}
# Keys whose values LoopBack 3 ignores unless they are objects.
_OPTIONS = ("options", "defaults")
_TRIMMED = ("url", "baseURL", "method")
_BOOLEAN_TEXTS = ("true", "false")
# URLs, and the credentials before a host without variables.
_ADDRESSES = ("url", "baseURL")
_CREDENTIALS = re.compile(r"(https?://)([^/?#{}:]+):?([^/?#{}]*)@", re.IGNORECASE)
_ABSENT = object()

Warn = Callable[[str], None]


def adapt(schema: Schema, data: JsonValue, path: str, problems: Problems) -> JsonValue:
    """Return settings in the terms of the schema, and warn about every difference."""
    if not isinstance(data, dict):
        return data
    adapted = {}
    for key, value in data.items():
        warn = partial(problems.warn, join_path(path, str(key)))
        name = _known_name(str(key), value, schema, warn)
        if name is None or (name != key and name in data):
            continue
        field = schema.fields[name]
        value = _adapt_value(name, value, field, warn)
        if value is not _ABSENT:
            adapted[name] = _adapt_below(field, value, join_path(path, name), problems)
    for name in _ADDRESSES:
        if name in adapted:
            _move_credentials(name, schema, adapted, partial(problems.warn, join_path(path, name)))
    return adapted


def _move_credentials(name: str, schema: Schema, settings: JsonObject, warn: Warn) -> None:
    """Move the credentials of a URL to `auth`: LoopBack 3 sends them as Basic."""
    address = settings[name]
    found = _CREDENTIALS.match(address) if isinstance(address, str) else None
    if found is None:
        return
    # A text from the environment keeps its type, so that it is masked.
    text = type(address)
    settings[name] = text(f"{found[1]}{address[found.end() :]}")
    auth = {"user": text(unquote(found[2]))}
    if found[3]:
        auth["pass"] = text(unquote(found[3]))
    if "auth" in schema.fields:
        settings.setdefault("auth", auth)
    else:
        settings["options"] = {"auth": auth, **settings.get("options", {})}
    warn("the credentials in it are sent as Basic authorization; write them as `auth` of `options`")


def _known_name(key: str, value: object, schema: Schema, warn: Warn) -> str | None:
    """Return the schema's name of a key; warn if it differs or there is none."""
    if key == "json" and "body" in schema.fields and not _is_flag(value):
        warn("read as `body`")
        return "body"
    name = key if key in schema.fields else ALIASES.get(key, OTHER_NAMES.get(key))
    if name in schema.fields:
        if name != key and key in ALIASES:
            warn(f"read as `{name}`")
        return name
    if key in IGNORED:
        warn(f"ignored: {IGNORED[key]}")
    else:
        warn(f"unknown key '{key}' is ignored{suggest(key, schema.fields)}")
    return None


def _is_flag(value: object) -> bool:
    return value is None or isinstance(value, bool) or str(value).lower() in _BOOLEAN_TEXTS


def _adapt_value(name: str, value: JsonValue, field: AnyField, warn: Warn) -> JsonValue:
    if value in (None, "") and not isinstance(field, fields.Raw):
        warn("is empty, and read as if it were missing")
        return _ABSENT
    if name in _OPTIONS and not isinstance(value, dict):
        warn(f"ignored: must be an object, got {type_name(value)}")
        return _ABSENT
    if name in _TRIMMED and isinstance(value, str) and value != value.strip():
        warn("the blanks around it are left out")
        return type(value)(value.strip())
    return value


def _adapt_below(field: AnyField, value: JsonValue, path: str, problems: Problems) -> JsonValue:
    """Adapt the settings in a value, or in each entry of an object of settings."""
    schema: Schema | None = getattr(field, "schema", None)
    if schema is None:
        return value
    if not isinstance(field, MapOf) or not isinstance(value, dict):
        return adapt(schema, value, path, problems)
    entries = value.items()
    return {key: adapt(schema, item, join_path(path, key), problems) for key, item in entries}
