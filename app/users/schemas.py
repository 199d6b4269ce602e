"""Wire shapes of users, access tokens and passwords."""

from collections.abc import Mapping
from typing import Any

import marshmallow
from email_validator import EmailNotValidError
from marshmallow import fields
from marshmallow.exceptions import ValidationError

from app.rest.fields import Schema, Text, Timestamp, not_blank

from .names import LONGEST_EMAIL, LONGEST_USERNAME, normal_email, normal_username

# Whom the document's examples register and log in.
EXAMPLE_EMAIL: dict[str, Any] = {"format": "email", "examples": ["newcomer@example.com"]}
EXAMPLE_PASSWORD = "a quiet harbour"  # noqa: S105 nobody's
# A number, which marshmallow cannot know of what a function returns.
SECONDS = {"type": "number", "examples": [1209600]}


def _check_email(address: str) -> None:
    try:
        normal_email(address, case_sensitive=True)
    except EmailNotValidError:
        raise ValidationError("is not an email address") from None


class Username(Text):
    """A username in the form in which it is stored."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(LONGEST_USERNAME, **kwargs)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        try:
            return normal_username(super()._deserialize(value, *args, **kwargs))
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Password(fields.String):
    """A password on its way in, exactly as received; the policy judges it elsewhere."""

    default_error_messages = {
        "required": "can't be blank",
        "null": "can't be blank",
        "invalid": "must be a string",
    }

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

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Say in JSON Schema what the policy asks of a new one."""
        if not self.is_new:
            return {}
        shortest, longest = settings["PASSWORD_MIN_LENGTH"], settings["PASSWORD_MAX_LENGTH"]
        return {"minLength": shortest, "maxLength": longest}


class UserSchema(Schema):
    """A user, as its owner sees and changes it; the realm is chosen at registration for good."""

    id = fields.Integer(dump_only=True)
    email = Text(LONGEST_EMAIL, required=True, validate=_check_email, metadata=EXAMPLE_EMAIL)
    username = Username(allow_none=True, load_default=None, validate=not_blank)
    realm = fields.Function(
        lambda user: user.realm or None, dump_only=True, metadata={"type": ["string", "null"]}
    )
    emailVerified = fields.Boolean(attribute="email_verified", dump_only=True)  # noqa: N815
    created = Timestamp(dump_only=True)
    # The caller's, which goes with a new email alone, and therefore not with an example.
    password = Password(None, is_new=False, required=False)


class RegistrationSchema(UserSchema):
    """What registration takes."""

    realm = Text(255, allow_none=True, load_default=None)  # type: ignore[assignment]
    password = Password()


class CredentialsSchema(marshmallow.Schema):
    """What login takes: an email or a username, and the password; `ttl` is in seconds.

    Takes over what is sent as it is: `credentials.py` says what it means, with an error for each.
    """

    class Meta:
        """Clients send more, like `rememberMe`."""

        unknown = marshmallow.EXCLUDE

    email = fields.Raw(
        allow_none=True, metadata={"type": "string", "examples": EXAMPLE_EMAIL["examples"]}
    )
    username = fields.Raw(allow_none=True, metadata={"type": "string"})
    password = fields.Raw(
        allow_none=True,
        metadata={"type": "string", "format": "password", "examples": [EXAMPLE_PASSWORD]},
    )
    ttl = fields.Raw(allow_none=True, metadata={"type": "number", "minimum": 0})
    realm = fields.Raw(allow_none=True, metadata={"type": "string"})


class ResetRequestSchema(marshmallow.Schema):
    """What a request for a password reset takes, as it is sent."""

    class Meta:
        """Clients send more."""

        unknown = marshmallow.EXCLUDE

    email = fields.Raw(
        allow_none=True, load_default=None, metadata={"type": "string", **EXAMPLE_EMAIL}
    )
    realm = fields.Raw(allow_none=True, load_default=None, metadata={"type": "string"})


class LogoutSchema(marshmallow.Schema):
    """What logout takes: a token, where none is presented."""

    class Meta:
        """Clients send more."""

        unknown = marshmallow.EXCLUDE

    sid = fields.Raw(allow_none=True, metadata={"type": "string"})


class AccessTokenSchema(Schema):
    """A fresh access token, the only time its value is shown."""

    id = fields.String(metadata={"examples": ["0123456789abcdef" * 4]})
    ttl = fields.Function(lambda token: as_json_number(token.ttl), metadata=SECONDS)
    created = Timestamp()
    userId = fields.Integer(attribute="user_id")  # noqa: N815


class LoginSchema(AccessTokenSchema):
    """A fresh access token together with its user."""

    user = fields.Nested(UserSchema)


class SessionSchema(Schema):
    """A token as its user sees it in the list of sessions: never its value."""

    handle = fields.String(metadata={"examples": ["0123456789abcdef"]})
    ttl = fields.Function(lambda token: as_json_number(token.ttl), metadata=SECONDS)
    created = Timestamp()
    current = fields.Boolean()


class NewPasswordSchema(Schema):
    """What a reset takes."""

    new_password = Password("an even quieter harbour", data_key="newPassword")


class ChangePasswordSchema(NewPasswordSchema):
    """What a change of the password takes."""

    old_password = Password(is_new=False, data_key="oldPassword")


def as_json_number(value: float) -> float | int:
    """Write whole seconds without a fraction."""
    return int(value) if value == int(value) else value
