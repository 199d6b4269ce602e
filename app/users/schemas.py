"""The schemas of users, access tokens and passwords."""

from typing import Any

import marshmallow
from email_validator import EmailNotValidError
from marshmallow import fields, validate
from marshmallow.exceptions import ValidationError

from app.fields.base import Id, Schema, Text, Timestamp, not_blank
from app.settings import Settings
from app.state import AppState

from .names import (
    MAX_EMAIL_LENGTH,
    MAX_USERNAME_LENGTH,
    NOT_AN_EMAIL,
    normalize_email,
    normalize_username,
)
from .user_models import has_several

#: Maximum characters of the kind, code or ticket of a second factor.
MAX_FACTOR_TEXT = 128
# The user in the examples of the OpenAPI document.
EXAMPLE_EMAIL = {"format": "email", "examples": ["newcomer@example.com"]}
EXAMPLE_PASSWORD = "a quiet harbour"  # noqa: S105 an example
# The JSON schema of a Function field, whose type marshmallow does not know.
SECONDS = {"type": "number", "examples": [1209600]}


class CredentialSchema(marshmallow.Schema):
    """A credential, such as a signature, if no feature verifies one."""

    class Meta:
        """Ignore unknown keys."""

        unknown = marshmallow.EXCLUDE


# The schema of a `credential` that proves a user; set by the feature that verifies it.
credential_schema = AppState[type[marshmallow.Schema]](
    "schema of credentials", factory=lambda _app: CredentialSchema
)


def check_email(address: str) -> None:
    """Raise marshmallow's ValidationError for an invalid email address."""
    try:
        normalize_email(address, case_sensitive=True)
    except EmailNotValidError:
        raise ValidationError(NOT_AN_EMAIL) from None


class Username(Text):
    """A username, normalized on load."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(MAX_USERNAME_LENGTH, **kwargs)

    def _deserialize(self, value: object, *args: Any, **kwargs: Any) -> str:
        try:
            return normalize_username(super()._deserialize(value, *args, **kwargs))
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Password(fields.String):
    """A password, loaded unchanged; `validate_password` checks the policy."""

    default_error_messages = {"invalid": "must be a string"}

    def __init__(
        self,
        example: str | None = EXAMPLE_PASSWORD,
        is_new: bool = True,
        required: bool = True,
        **kwargs: Any,
    ) -> None:
        metadata = {"format": "password", **({"examples": [example]} if example else {})}
        super().__init__(required=required, load_only=True, metadata=metadata, **kwargs)
        self.is_new = is_new

    def json_schema(self, settings: Settings) -> dict[str, object]:
        """Return the length limits of a new password as JSON Schema keywords."""
        if not self.is_new:
            return {}
        shortest, longest = settings["PASSWORD_MIN_LENGTH"], settings["PASSWORD_MAX_LENGTH"]
        return {"minLength": shortest, "maxLength": longest}


class UserSchema(Schema):
    """A user; the realm cannot be changed after registration."""

    id = Id(dump_only=True)
    email = Text(MAX_EMAIL_LENGTH, required=True, validate=check_email, metadata=EXAMPLE_EMAIL)
    username = Username(allow_none=True, load_default=None, validate=not_blank)
    realm = fields.Function(
        lambda user: user.realm or None, dump_only=True, metadata={"type": ["string", "null"]}
    )
    emailVerified = fields.Boolean(attribute="email_verified", dump_only=True)  # noqa: N815
    created = Timestamp(dump_only=True)
    # The caller's current password, required with a new email; therefore without an example.
    password = Password(None, is_new=False, required=False)


class RegistrationSchema(UserSchema):
    """The body of a registration."""

    realm = Text(255, allow_none=True, load_default=None)  # type: ignore[assignment]
    password = Password()


class ServiceAccountSchema(RegistrationSchema):
    """The body that creates a service account."""

    class Meta(RegistrationSchema.Meta):
        """It has no password."""

        exclude = ("password",)


def _any(load_default: object = marshmallow.missing, **json_schema: object) -> fields.Raw:
    """Return a field without validation; `json_schema` is only for the document."""
    return fields.Raw(allow_none=True, load_default=load_default, metadata=json_schema)


class CredentialsSchema(marshmallow.Schema):
    """The body of a login: an email or username, and the password; `ttl` is in seconds.

    `parse_credentials` parses the values, with an error for each.
    """

    class Meta:
        """Ignore unknown keys, as LoopBack 3 does."""

        unknown = marshmallow.EXCLUDE

    email = _any(type="string", examples=EXAMPLE_EMAIL["examples"])
    username = _any(type="string")
    password = _any(type="string", format="password", examples=[EXAMPLE_PASSWORD])
    ttl = _any(type="number", minimum=0, description="In seconds.")
    realm = _any(type="string")
    rememberMe = _any(  # noqa: N815
        type="boolean", description="`false`: the browser deletes the cookie when it is closed."
    )
    code = _any(type="string", description="Of a second factor, if the user has one.")
    kind = _any(type="string", description="The kind of the code, by default `totp`.")


class ResetRequestSchema(marshmallow.Schema):
    """The body of a password reset request; values are not validated here."""

    class Meta:
        """Ignore unknown keys."""

        unknown = marshmallow.EXCLUDE

    email = _any(load_default=None, type="string", **EXAMPLE_EMAIL)
    realm = _any(load_default=None, type="string")


class LogoutSchema(marshmallow.Schema):
    """The body of a logout: the token, unless it is presented otherwise."""

    class Meta:
        """Ignore unknown keys."""

        unknown = marshmallow.EXCLUDE

    sid = _any(type="string")


class AccessTokenSchema(Schema):
    """A new access token; the only response with its value."""

    id = fields.String(metadata={"examples": ["0123456789abcdef" * 4]})
    ttl = fields.Function(lambda token: as_json_number(token.ttl), metadata=SECONDS)
    created = Timestamp()
    userId = Id(attribute="user_id", dump_only=True)  # noqa: N815
    principalType = fields.String(  # noqa: N815
        metadata={"description": "The name of the user's model.", "examples": ["Customer"]}
    )

    def __init__(self, **options: Any) -> None:
        """Leave out the model if there is only one, or no app yet."""
        super().__init__(**{"exclude": () if has_several() else ("principalType",)} | options)


class SessionSchema(Schema):
    """A session: a login token without its value."""

    handle = fields.String(metadata={"examples": ["0123456789abcdef"]})
    ttl = fields.Function(lambda token: as_json_number(token.ttl), metadata=SECONDS)
    created = Timestamp()
    lastUsed = Timestamp(  # noqa: N815
        attribute="last_used",
        allow_none=True,
        metadata={
            "description": "`null` without `TOKEN_SLIDING`; with it, up to `TOKEN_TOUCH_INTERVAL`"
            " seconds too early."
        },
    )
    userAgent = fields.String(attribute="user_agent", allow_none=True)  # noqa: N815
    address = fields.String(allow_none=True)
    current = fields.Boolean()


class LoopBackSessionSchema(SessionSchema):
    """A session in the form of LoopBack 3's access tokens; `id` is the handle, not the value."""

    id = fields.Function(
        lambda session: session.handle,
        metadata={"type": "string", "examples": ["0123456789abcdef"]},
    )
    userId = Id(attribute="user_id", dump_only=True)  # noqa: N815


class NewPasswordSchema(Schema):
    """The body of a password reset."""

    new_password = Password("an even quieter harbour", data_key="newPassword")


class ChangePasswordSchema(NewPasswordSchema):
    """The body of a password change."""

    old_password = Password(is_new=False, data_key="oldPassword")


class ReauthenticationSchema(Schema):
    """The body of a reauthentication: the password, or a second factor."""

    password = Password(is_new=False, required=False)
    kind = fields.String(validate=validate.Length(1, MAX_FACTOR_TEXT))
    code = fields.String(
        validate=validate.Length(1, MAX_FACTOR_TEXT), metadata={"examples": ["123456"]}
    )
    credential = fields.Nested(lambda: credential_schema.current)


class ChangeEmailSchema(Schema):
    """The body that requests a new address."""

    new_email = Text(
        MAX_EMAIL_LENGTH,
        required=True,
        validate=check_email,
        data_key="newEmail",
        metadata={"format": "email", "examples": ["renamed@example.com"]},
    )
    password = Password(is_new=False)


def as_json_number(value: float) -> float | int:
    """Return a whole number as an integer, so that its JSON has no fraction."""
    return int(value) if value == int(value) else value
