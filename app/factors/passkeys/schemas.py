"""Schemas of passkeys; data for and from browsers has WebAuthn's names."""

import re
from typing import Any

import marshmallow
from marshmallow import fields, validate

from app.factors.models import MAX_FACTOR_NAME
from app.fields.base import Schema, Text, Timestamp, not_blank

from .models import MAX_CREDENTIAL_ID

#: Maximum characters of a user handle in base64url; WebAuthn limits it to 64 bytes (5.4.3).
MAX_USER_HANDLE = 86
#: Maximum characters of a browser's data about a ceremony, in base64url; usually some 250.
MAX_CLIENT_DATA = 4096
#: Maximum characters of the data of an authenticator at login, with extensions, in base64url.
MAX_AUTHENTICATOR_DATA = 2048
#: Maximum characters of a signature in base64url; one by RSA with 4096 bits has 683.
MAX_SIGNATURE = 1024
BASE64_URL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
#: Maximum characters of a browser's data about a new passkey in base64url, with RSA keys and
#: extensions.
MAX_ATTESTATION = 8192
#: Maximum number of transports that a browser names; WebAuthn knows six.
MAX_TRANSPORTS = 16


def _object(**metadata: object) -> fields.Dict:
    return fields.Dict(dump_only=True, metadata=metadata)


class Base64Url(Text):
    """Bytes as text in base64url (RFC 4648, section 5), without padding."""

    default_error_messages = {"characters": "must be base64url without padding"}

    def __init__(self, max_length: int, **options: Any) -> None:
        super().__init__(max_length, metadata={"examples": ["AAAA"]}, **options)

    def _deserialize(self, *args: Any, **kwargs: Any) -> str:
        text = super()._deserialize(*args, **kwargs)
        if not BASE64_URL.fullmatch(text):
            raise self.make_error("characters")
        return text


class CredentialIdSchema(marshmallow.Schema):
    """Common properties of authenticators' responses, as returned by a browser's `toJSON()`.

    The names are WebAuthn's.
    """

    class Meta:
        """Ignore unknown keys, as browsers keep adding some."""

        unknown = marshmallow.EXCLUDE

    id = Base64Url(MAX_CREDENTIAL_ID, required=True)
    rawId = Base64Url(MAX_CREDENTIAL_ID, required=True)  # noqa: N815
    type = fields.String(
        required=True,
        validate=validate.Equal("public-key"),
        metadata={"examples": ["public-key"]},
    )


class AssertionResponseSchema(marshmallow.Schema):
    """An authenticator's assertion."""

    class Meta:
        """Ignore unknown keys, as browsers keep adding some."""

        unknown = marshmallow.EXCLUDE

    clientDataJSON = Base64Url(MAX_CLIENT_DATA, required=True)  # noqa: N815
    authenticatorData = Base64Url(MAX_AUTHENTICATOR_DATA, required=True)  # noqa: N815
    signature = Base64Url(MAX_SIGNATURE, required=True)
    userHandle = Base64Url(MAX_USER_HANDLE, allow_none=True)  # noqa: N815


class AssertionSchema(CredentialIdSchema):
    """A passkey's assertion to log in."""

    response = fields.Nested(AssertionResponseSchema, required=True)


class AttestationResponseSchema(marshmallow.Schema):
    """An authenticator's data about a new passkey."""

    class Meta:
        """Ignore unknown keys, as browsers keep adding some."""

        unknown = marshmallow.EXCLUDE

    clientDataJSON = Base64Url(MAX_CLIENT_DATA, required=True)  # noqa: N815
    attestationObject = Base64Url(MAX_ATTESTATION, required=True)  # noqa: N815
    transports = fields.List(Text(32), validate=validate.Length(max=MAX_TRANSPORTS))


class RegistrationSchema(CredentialIdSchema):
    """A new passkey, as returned by `toJSON()` of a browser's credential."""

    response = fields.Nested(AttestationResponseSchema, required=True)


class PasskeyNameSchema(Schema):
    """The body that renames a passkey."""

    name = Text(MAX_FACTOR_NAME, required=True, validate=not_blank, metadata={"examples": ["key"]})


class NewPasskeySchema(Schema):
    """The body that adds a passkey."""

    name = Text(MAX_FACTOR_NAME, validate=not_blank, metadata={"examples": ["phone"]})
    credential = fields.Nested(RegistrationSchema, required=True)


class PasskeySchema(Schema):
    """A passkey of a user."""

    id = fields.Integer(dump_only=True)
    name = fields.String(dump_only=True, allow_none=True)
    created = Timestamp(dump_only=True)
    lastUsed = Timestamp(attribute="last_used", dump_only=True)  # noqa: N815
    transports = fields.List(
        fields.String(), dump_only=True, metadata={"description": "How browsers reach it."}
    )
    backupEligible = fields.Boolean(  # noqa: N815
        attribute="backup_eligible",
        dump_only=True,
        metadata={"description": "Whether it may be on several devices of the user."},
    )
    backedUp = fields.Boolean(  # noqa: N815
        attribute="backed_up",
        dump_only=True,
        metadata={"description": "Whether it was, when it was used last."},
    )


class CreationOptionsSchema(marshmallow.Schema):
    """The argument of `PublicKeyCredential.parseCreationOptionsFromJSON`."""

    rp = _object(description="The service.")
    user = _object(description="The user, with an `id` that tells nothing else.")
    challenge = fields.String(dump_only=True)
    pubKeyCredParams = fields.List(fields.Dict(), dump_only=True)  # noqa: N815
    timeout = fields.Integer(dump_only=True, metadata={"description": "Milliseconds."})
    excludeCredentials = fields.List(fields.Dict(), dump_only=True)  # noqa: N815
    authenticatorSelection = _object()  # noqa: N815
    attestation = fields.String(dump_only=True)


class RequestOptionsSchema(marshmallow.Schema):
    """The argument of `PublicKeyCredential.parseRequestOptionsFromJSON`."""

    challenge = fields.String(dump_only=True)
    timeout = fields.Integer(dump_only=True, metadata={"description": "Milliseconds."})
    rpId = fields.String(dump_only=True)  # noqa: N815
    allowCredentials = fields.List(fields.Dict(), dump_only=True)  # noqa: N815
    userVerification = fields.String(dump_only=True)  # noqa: N815


class PasskeyLoginSchema(marshmallow.Schema):
    """The body of a login by a passkey."""

    class Meta:
        """Ignore unknown keys, as logins do."""

        unknown = marshmallow.EXCLUDE

    credential = fields.Nested(AssertionSchema, required=True)
