"""Schemas of second factors, and of logins in two steps."""

import marshmallow
from marshmallow import fields, validate

from app.fields.base import Schema, Text, Timestamp, not_blank
from app.users.schemas import MAX_FACTOR_TEXT, credential_schema

from .models import MAX_FACTOR_NAME

EXAMPLE_TICKET = "0123456789abcdef" * 4
EXAMPLE_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # noqa: S105


def _text(required: bool = True, **metadata: object) -> fields.String:
    return fields.String(
        required=required,
        validate=validate.Length(1, MAX_FACTOR_TEXT),
        error_messages={"invalid": "must be a string"},
        metadata=metadata,
    )


def ticket_field(**metadata: object) -> fields.String:
    """Return the field of a pending login's ticket."""
    return _text(
        required=False,
        description="Of `error.details` of the first step, unless a cookie has it.",
        **metadata,
    )


class ProofSchema(Schema):
    """A second factor: a code, or a browser's signature."""

    kind = fields.String(
        validate=validate.Length(1, MAX_FACTOR_TEXT),
        metadata={
            "description": "One of the `kinds` of the error. Without it, a `credential` is of a"
            " passkey, a code with letters is a recovery code, and another one is of an"
            " authenticator app.",
            "examples": ["totp"],
        },
    )
    code = _text(required=False, examples=["123456"])
    credential = fields.Nested(lambda: credential_schema.current)


class SecondStepSchema(ProofSchema):
    """The body of the second step of a login."""

    ticket = ticket_field(examples=[EXAMPLE_TICKET])


class EnrolmentSchema(Schema):
    """The body by which a user who is required to have a second factor adds one during a login."""

    ticket = ticket_field(examples=[EXAMPLE_TICKET])
    kind = fields.String(
        load_default="totp",
        validate=validate.Length(1, MAX_FACTOR_TEXT),
        metadata={"description": "One of the `kinds` of the error.", "examples": ["totp"]},
    )


class FactorNameSchema(Schema):
    """The body that creates a second factor."""

    name = Text(MAX_FACTOR_NAME, validate=not_blank, metadata={"examples": ["phone"]})


class NewFactorSchema(Schema):
    """A new second factor, to be confirmed by a code; its secret is shown once."""

    id = fields.Integer(dump_only=True)
    kind = fields.String(dump_only=True)
    name = fields.String(dump_only=True, allow_none=True)
    secret = fields.String(dump_only=True, metadata={"examples": [EXAMPLE_SECRET]})
    uri = fields.String(
        dump_only=True,
        metadata={
            "description": "What an authenticator app reads.",
            "examples": [f"otpauth://totp/Ostiary:ada%40example.com?secret={EXAMPLE_SECRET}"],
        },
    )
    svg = fields.String(dump_only=True, metadata={"description": "The address as a QR code."})


class CodeSchema(Schema):
    """The body that confirms a factor."""

    code = _text(examples=["123456"])


class FactorSchema(Schema):
    """A confirmed factor."""

    id = fields.Integer(dump_only=True)
    kind = fields.Constant("totp", dump_only=True)
    name = fields.String(dump_only=True, allow_none=True)
    created = Timestamp(dump_only=True)
    lastUsed = Timestamp(attribute="last_used", dump_only=True)  # noqa: N815


class RecoveryCodesSchema(marshmallow.Schema):
    """New recovery codes, which are shown once."""

    codes = fields.List(
        fields.String(metadata={"examples": ["abcdef-ghijkl-mnopqr-stuvwx"]}), dump_only=True
    )


class CodesLeftSchema(marshmallow.Schema):
    """The number of a user's unused recovery codes."""

    left = fields.Integer(dump_only=True)
