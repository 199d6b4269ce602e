"""What settings are made of: their declaration, kinds of values and checks."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from marshmallow import Schema, ValidationError, fields, validate

DEFAULT_PORTS = {"http": 80, "https": 443}
ORIGIN = re.compile(
    r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE | re.ASCII
)

positive = validate.Range(min=1)
more_than_zero = validate.Range(min=0, min_inclusive=False)
# Seconds; a hundred years is longer than anything needs to last.
lifetime = validate.Range(min=1, max=100 * 31556926)
# The key in the metadata of settings that are secret as a whole.
SECRET = "secret"  # noqa: S105 a name


def is_address(value: str, *schemes: str) -> bool:
    """Return True if a URL has one of the schemes, a host, and a valid port, if any."""
    try:
        parts = urlsplit(value)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _as_browsers_write(url: str) -> str:
    """Return a URL with its host in lower case and without a default port (RFC 6454, 4)."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return parts._replace(netloc=f"{host}{port}").geturl()


class PublicUrl(fields.String):
    """A URL as browsers write it."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> str:
        url: str = super()._deserialize(value, *args, **kwargs)
        if not is_address(url, "http", "https") or url.endswith("/") or not url.isascii():
            raise ValidationError(
                "must be an http or https address without a trailing slash,"
                " an international name in its ASCII form (xn--...)"
            )
        return _as_browsers_write(url)


class OriginField(fields.String):
    """An origin as browsers send it, such as `https://app.example.com`, or `*`."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> str:
        origin: str = super()._deserialize(value, *args, **kwargs)
        if origin == "*":
            return origin
        if not ORIGIN.fullmatch(origin) or not is_address(origin, "http", "https"):
            raise ValidationError("must be an origin such as https://app.example.com, or *")
        return _as_browsers_write(origin)


FieldType = TypeVar("FieldType", bound=fields.Field[Any])

# The loaded settings by name; `SettingsSchema` has their types.
Settings = Mapping[str, Any]


def setting(
    kind: Callable[..., FieldType],
    default: object,
    meaning: str,
    is_secret: bool = False,
    **options: object,
) -> FieldType:
    """Return a setting's field; `meaning` is its Markdown text in docs/configuration.md.

    Secret settings are never shown. In others, entries with the name of a secret, and passwords in
    URLs, are masked.
    """
    if kind is fields.Integer:
        options.setdefault("strict", True)
    metadata = {"description": meaning, **({SECRET: True} if is_secret else {})}
    return kind(load_default=default, metadata=metadata, **options)


def group(schema: type[Schema], meaning: str) -> fields.Nested:
    """Return the setting of an object whose entries all have defaults."""
    entries = schema()
    return setting(partial(fields.Nested, schema), lambda: entries.load({}), meaning)
