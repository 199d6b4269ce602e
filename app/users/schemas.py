"""Wire shapes of users, access tokens and passwords."""

from typing import Any

from email_validator import (
    SPECIAL_USE_DOMAIN_NAMES,
    EmailNotValidError,
    EmailSyntaxError,
    validate_email,
)
from marshmallow import fields
from marshmallow.exceptions import ValidationError

from app.rest.fields import Schema, Text, Timestamp, not_blank

# The library's way of accepting names like .local and localhost, which networks do use.
SPECIAL_USE_DOMAIN_NAMES.clear()


def normal_email(address: str, case_sensitive: bool) -> str:
    """Return the form in which an address is stored and compared; ValueError if it is none.

    Addresses inside a network, like `ada@localhost`, are good ones; nothing is looked up in DNS.
    """
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    if "=?" in found.local_part:
        # Mail headers would decode it (RFC 2047), and the mail go to another address.
        raise EmailSyntaxError("An encoded word is not an address.")
    return found.normalized if case_sensitive else found.normalized.lower()


def _check_email(address: str) -> None:
    try:
        normal_email(address, case_sensitive=True)
    except EmailNotValidError:
        raise ValidationError("is not an email address") from None


class Password(fields.String):
    """A password on its way in, exactly as received; the policy judges it elsewhere."""

    default_error_messages = {
        "required": "can't be blank",
        "null": "can't be blank",
        "invalid": "must be a string",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=True, load_only=True, **kwargs)


class UserSchema(Schema):
    """A user, as its owner sees and changes it; the realm is chosen at registration for good."""

    id = fields.Integer(dump_only=True)
    email = Text(320, required=True, validate=_check_email)
    username = Text(255, allow_none=True, load_default=None, validate=not_blank)
    realm = fields.Function(lambda user: user.realm or None, dump_only=True)
    emailVerified = fields.Boolean(attribute="email_verified", dump_only=True)  # noqa: N815
    created = Timestamp(dump_only=True)


class RegistrationSchema(UserSchema):
    """What registration takes."""

    realm = Text(255, allow_none=True, load_default=None)  # type: ignore[assignment]
    password = Password()


class AccessTokenSchema(Schema):
    """A fresh access token, the only time its value is shown."""

    id = fields.String()
    ttl = fields.Function(lambda token: as_json_number(token.ttl))
    created = Timestamp()
    userId = fields.Integer(attribute="user_id")  # noqa: N815


class LoginSchema(AccessTokenSchema):
    """A fresh access token together with its user."""

    user = fields.Nested(UserSchema)


class SessionSchema(Schema):
    """A token as its user sees it in the list of sessions: never its value."""

    handle = fields.String()
    ttl = fields.Function(lambda token: as_json_number(token.ttl))
    created = Timestamp()


class NewPasswordSchema(Schema):
    """What a reset takes."""

    new_password = Password(data_key="newPassword")


class ChangePasswordSchema(NewPasswordSchema):
    """What a change of the password takes."""

    old_password = Password(data_key="oldPassword")


def as_json_number(value: float) -> float | int:
    """Write whole seconds without a fraction."""
    return int(value) if value == int(value) else value
