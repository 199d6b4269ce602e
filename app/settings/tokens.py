"""Settings of access tokens, personal tokens, passkeys and second factors."""

import re
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from .fields import OriginField, lifetime, setting

# The value of COOKIE_SAMESITE with which browsers send cookies with requests of other sites, too.
CROSS_SITE = "None"
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*", re.ASCII)
# The origin of an Android app: the SHA-256 of its certificate in base64url.
ANDROID_ORIGIN = re.compile(r"android:apk-key-hash:[A-Za-z0-9_-]{43}", re.ASCII)


class PasskeyOrigin(OriginField):
    """An origin that may use passkeys: of pages with https, or of an Android app."""

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> str:
        if isinstance(value, str) and ANDROID_ORIGIN.fullmatch(value):
            return value
        try:
            origin = super()._deserialize(value, *args, **kwargs)
        except ValidationError:
            origin = "*"
        parts = urlsplit(origin)
        if parts.scheme != "https" and parts.hostname != "localhost":
            raise ValidationError(
                "must be an origin such as https://app.example.com, http://localhost with a port,"
                " or android:apk-key-hash: with the digest of an app's certificate"
            )
        return origin


class SecondFactorField(fields.Field[Any]):
    """`optional`, `required`, or the roles that require a second factor."""

    def _deserialize(self, value: Any, *args: object, **kwargs: object) -> str | list[str]:
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if (is_list and value) or value in ("optional", "required"):
            found: str | list[str] = value
            return found
        raise ValidationError('must be "optional", "required" or a list of roles')


class TokenMiddlewareSchema(Schema):
    """Entries of TOKEN_MIDDLEWARE."""

    cookies = setting(
        partial(fields.List, fields.String()),
        lambda: ["access_token"],
        "Cookies that may hold a token; login sets the first one.",
        validate=validate.Length(min=1),
    )
    headers = setting(
        partial(fields.List, fields.String()), list, "Further headers that may hold a token."
    )
    params = setting(
        partial(fields.List, fields.String()),
        list,
        "Further query parameters that may hold a token.",
    )
    currentUserLiteral = setting(  # noqa: N815 the interface's name
        fields.String,
        None,
        "A word, such as `me`, that can be used in place of the caller's own id in paths.",
    )


class PersonalTokensSchema(Schema):
    """Entries of PERSONAL_TOKENS."""

    ttl = setting(
        fields.Integer,
        2592000,
        "Lifetime in seconds of a token that is made without an end. At most `max_ttl`.",
        validate=lifetime,
    )
    max_ttl = setting(
        fields.Integer,
        31556926,
        "Longest lifetime in seconds that a token may be made with.",
        validate=lifetime,
    )

    @validates_schema
    def _compare_limits(self, settings: dict[str, Any], **_options: object) -> None:
        if settings["ttl"] > settings["max_ttl"]:
            message = f"{settings['ttl']} is more than max_ttl, which is {settings['max_ttl']}"
            raise ValidationError(message, "ttl")


class PasskeysSchema(Schema):
    """Entries of PASSKEYS."""

    rp_id = setting(
        fields.String,
        None,
        "The domain that passkeys are for, on whose subdomains they work, too: by default the host"
        " of `PUBLIC_URL`. With another one, passkeys made before are of no use.",
        validate=validate.Regexp(DOMAIN),
    )
    origins = setting(
        partial(fields.List, PasskeyOrigin()),
        list,
        "Further origins than that of `PUBLIC_URL` that log in by passkeys, such as"
        " `https://app.example.com`, or `android:apk-key-hash:` with the SHA-256 of an app's"
        " certificate in base64url.",
    )


class TokenSettings(Schema):
    """How long tokens live and where requests present them, passkeys and second factors."""

    TOKEN_TTL = setting(
        fields.Integer,
        1209600,
        "Default lifetime of an access token in seconds, if the login requests none. At most"
        " `TOKEN_MAX_TTL`.",
        validate=lifetime,
    )
    TOKEN_MAX_TTL = setting(
        fields.Integer,
        31556926,
        "Maximum lifetime in seconds that a login may request.",
        validate=lifetime,
    )
    ETERNAL_TOKENS = setting(
        fields.Boolean,
        False,
        "`true`: a login may request a `ttl` of -1, as with LoopBack 3's `allowEternalTokens`; its"
        " token is valid for `TOKEN_MAX_TTL` seconds.",
    )
    RESET_TOKEN_TTL = setting(
        fields.Integer, 900, "Lifetime of a password reset token in seconds.", validate=lifetime
    )
    TOKEN_SLIDING = setting(
        fields.Boolean,
        False,
        "`true`: each use of a login token prolongs it to its full lifetime, but not beyond"
        " `TOKEN_MAX_TTL` from the login.",
    )
    TOKEN_TOUCH_INTERVAL = setting(
        fields.Integer,
        60,
        "Seconds between two prolongations of a token: a lower value causes more writes. With"
        " `TOKEN_SLIDING` it must be less than `TOKEN_TTL`.",
        validate=validate.Range(min=0),
    )
    TOKEN_IN_QUERY = setting(
        fields.Boolean, True, "`false` refuses access tokens in the query string."
    )
    TOKEN_MIDDLEWARE = setting(
        partial(fields.Nested, TokenMiddlewareSchema),
        None,
        "An object, `{}` included, switches cookies on: login sets one, and requests from"
        " pages of `PUBLIC_URL` may present it. Its entries are below.",
    )
    COOKIE_SAMESITE = setting(
        fields.String,
        "Lax",
        "`SameSite` of the cookies. `None`, which is a text, is for front ends on another site:"
        " [frontend.md](frontend.md#on-another-site). It needs a `PUBLIC_URL` with https, and"
        " `CORS_ORIGINS`.",
        validate=validate.OneOf(["Lax", CROSS_SITE]),
    )
    PERSONAL_TOKENS = setting(
        partial(fields.Nested, PersonalTokensSchema),
        None,
        "An object, `{}` included, lets users make tokens for programs, with scopes:"
        " [identity.md](identity.md#personal-tokens). Its entries are below.",
    )
    PASSKEYS = setting(
        partial(fields.Nested, PasskeysSchema),
        None,
        "An object, `{}` included, lets users log in by passkeys:"
        " [identity.md](identity.md#passkeys). It needs a `PUBLIC_URL` with https, or"
        " `http://localhost`. Its entries are below.",
    )
    SECOND_FACTOR = setting(
        SecondFactorField,
        None,
        "`optional`: users may add second factors, which their logins then take. A list of roles"
        ' such as `["admin"]`: whoever has one must. `required`: everybody must.'
        " [identity.md](identity.md#second-factors).",
    )
    FACTOR_KEYS = setting(
        partial(fields.List, fields.String()),
        list,
        "Keys that encrypt the secrets of second factors, such as `openssl rand -base64 32 | tr +/"
        " -_` prints. The first one encrypts, all of them decrypt.",
        is_secret=True,
    )
