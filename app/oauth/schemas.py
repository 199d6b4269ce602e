"""The schemas of a provider's settings, of an ID token that an app sends, and of identities."""

from typing import Any

import marshmallow
from marshmallow import EXCLUDE, INCLUDE, fields, validate

from app.rest.fields.base import Schema, Timestamp
from app.rest.fields.json import Object

from .models import MAX_ISSUER

# A path as a route: without Flask's placeholders.
PATH = validate.Regexp(r"(/[\w.~:@-]+)+/?\Z", error="must be a path such as /auth/google")
#: Characters of the code that a provider sends.
MAX_CODE = 4096
#: Characters of an ID token.
MAX_ID_TOKEN = 16_384
#: Characters of the nonce that an app sends.
MAX_NONCE = 255


def _text(**options: Any) -> fields.String:
    return fields.String(load_default=None, validate=validate.Length(1, 4096), **options)


class ProviderSchema(marshmallow.Schema):
    """An entry of PROVIDERS: the keys of LoopBack 3's `providers.json`, and a few more."""

    class Meta:
        """Keys of passport modules that are not used here are warned of."""

        unknown = INCLUDE

    # LoopBack 3's names.
    provider = fields.String(load_default=None, validate=validate.Regexp(r"[\w-]{1,64}\Z"))
    module = _text()
    clientID = _text()  # noqa: N815
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
    scope = fields.Raw(load_default=None)
    json = fields.Boolean(load_default=False)
    link = fields.Boolean(load_default=False)
    # Those of passport modules.
    issuer = fields.String(load_default=None, validate=validate.Length(1, MAX_ISSUER))
    tenant = fields.String(load_default=None, validate=validate.Regexp(r"[\w.-]{1,255}\Z"))
    authorizationURL = _text()  # noqa: N815
    tokenURL = _text()  # noqa: N815
    userProfileURL = _text()  # noqa: N815
    userEmailURL = _text()  # noqa: N815
    profileURL = _text()  # noqa: N815
    # Ours.
    label = fields.String(load_default=None, validate=validate.Length(1, 64))
    trustEmail = fields.Boolean(load_default=False)  # noqa: N815
    realm = fields.String(load_default="", validate=validate.Length(max=255))
    audience = fields.List(fields.String(), load_default=list)


class IdTokenSchema(Schema):
    """The body of a login with an ID token that an app got from the provider."""

    class Meta:
        """Ignore other keys; an access token is not taken for an ID token."""

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
