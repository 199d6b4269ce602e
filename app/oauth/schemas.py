"""Schemas of a provider's settings and URLs, of an app's ID token, and of identities."""

from collections.abc import Callable
from urllib.parse import urlsplit

import marshmallow
from marshmallow import EXCLUDE, INCLUDE, ValidationError, fields, validate

from app.fields.base import Schema, Timestamp
from app.fields.json import Object
from app.settings import is_address

from .models import MAX_ISSUER

# Hosts whose URLs may be http, for development.
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
# A path as a route, without Flask's placeholders.
PATH = validate.Regexp(r"(/[\w.~:@-]+)+/?\Z", error="must be a path such as /auth/google")
#: Maximum characters of a provider's code.
MAX_CODE = 4096
#: Maximum characters of an ID token.
MAX_ID_TOKEN = 16_384
#: Maximum characters of an app's nonce.
MAX_NONCE = 255
# Settings that are URLs, by passport's names.
URLS = ("issuer", "authorizationURL", "tokenURL", "userProfileURL", "userEmailURL", "profileURL")


def is_secure(url: str) -> bool:
    """Return True if secrets may be sent to a URL: by https, or to this machine."""
    if not is_address(url, "http", "https") or not url.isascii():
        return False
    parts = urlsplit(url)
    is_plain = not any((parts.query, parts.fragment, parts.username))
    return is_plain and (parts.scheme == "https" or parts.hostname in LOCAL_HOSTS)


def _check_url(value: str) -> None:
    if not is_secure(value):
        raise ValidationError(
            "must be an https address (http on this machine), without query or fragment"
        )


def _text(*checks: Callable[[str], object]) -> fields.String:
    return fields.String(load_default=None, validate=[validate.Length(1, 4096), *checks])


def _required(missing: str, longest: int, *checks: Callable[[str], object]) -> fields.String:
    return fields.String(
        required=True,
        error_messages={"required": missing},
        validate=[validate.Length(1, longest), *checks],
    )


class Scope(fields.Field[list[str]]):
    """The words of a scope: a list, or a text separated by spaces."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> list[str]:
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValidationError("must be a text, or a list of texts")
        return words


class ProviderSettingsSchema(marshmallow.Schema):
    """An entry of PROVIDERS: the keys of LoopBack 3's `providers.json`, and a few more."""

    class Meta:
        """Unused keys of passport modules cause warnings."""

        unknown = INCLUDE

    # LoopBack 3's names.
    provider = fields.String(load_default=None, validate=validate.Regexp(r"[\w-]{1,64}\Z"))
    module = _text()
    clientID = _required("is missing", 4096)  # noqa: N815
    clientSecret = _text()  # noqa: N815
    authPath = fields.String(load_default=None, validate=PATH)  # noqa: N815
    callbackPath = fields.String(load_default=None, validate=PATH)  # noqa: N815
    linkCallbackPath = fields.String(load_default=None, validate=PATH)  # noqa: N815
    callbackHTTPMethod = fields.String(  # noqa: N815
        load_default=None, validate=validate.OneOf(["get", "post"])
    )
    successRedirect = _text()  # noqa: N815
    failureRedirect = _text()  # noqa: N815
    failureQueryString = fields.Boolean(load_default=False)  # noqa: N815
    scope = Scope(load_default=None)
    json = fields.Boolean(load_default=False)
    link = fields.Boolean(load_default=False)
    # Keys of passport modules.
    issuer = _required(
        "is missing: the address of the provider, such as https://id.example.com",
        MAX_ISSUER,
        _check_url,
    )
    tenant = fields.String(load_default=None, validate=validate.Regexp(r"[\w.-]{1,255}\Z"))
    authorizationURL = _text(_check_url)  # noqa: N815
    tokenURL = _text(_check_url)  # noqa: N815
    userProfileURL = _text(_check_url)  # noqa: N815
    userEmailURL = _text(_check_url)  # noqa: N815
    profileURL = _text(_check_url)  # noqa: N815
    # Keys that LoopBack 3 does not have.
    label = fields.String(load_default=None, validate=validate.Length(1, 64))
    trustEmail = fields.Boolean(load_default=False)  # noqa: N815
    realm = fields.String(load_default="", validate=validate.Length(max=255))
    audience = fields.List(fields.String(), load_default=list)
    strongAmr = fields.List(fields.String(), load_default=list)  # noqa: N815
    strongAcr = fields.List(fields.String(), load_default=list)  # noqa: N815


class IdTokenSchema(Schema):
    """The body of a login with a provider's ID token from an app."""

    class Meta:
        """Ignore unknown keys; an access token does not count as an ID token."""

        unknown = EXCLUDE

    id_token = fields.String(
        required=True,
        validate=validate.Length(1, MAX_ID_TOKEN),
        error_messages={"invalid": "must be a string"},
    )
    nonce = fields.String(
        load_default=None, allow_none=True, validate=validate.Length(1, MAX_NONCE)
    )


class IdentitySchema(Schema):
    """A user's identity at a provider."""

    id = fields.Integer(dump_only=True)
    provider = fields.String(dump_only=True, metadata={"examples": ["google"]})
    issuer = fields.String(dump_only=True, metadata={"examples": ["https://accounts.google.com"]})
    subject = fields.String(dump_only=True)
    profile = Object(dump_only=True)
    created = Timestamp(dump_only=True)
    lastUsed = Timestamp(attribute="last_used", dump_only=True)  # noqa: N815
