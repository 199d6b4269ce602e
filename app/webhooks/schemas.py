"""Schemas of the bodies and responses of the calls for webhooks."""

from marshmallow import fields, validate

from app.fields.base import Schema, Text, Timestamp

from .recording import EVENTS, KINDS

#: Maximum characters of an address, and entries of a list.
MAX_URL, MAX_ENTRIES = 2000, 100


def _names(*example: str, **options: object) -> fields.List[str]:
    return fields.List(
        Text(200),
        validate=validate.Length(max=MAX_ENTRIES),
        load_default=list,
        metadata={"examples": [[*example]], **options},
    )


def _some_of(
    known: tuple[str, ...], default: tuple[str, ...], **metadata: object
) -> fields.List[str]:
    return fields.List(
        fields.String(validate=validate.OneOf(known, error=f"must be one of {', '.join(known)}")),
        validate=validate.Length(max=MAX_ENTRIES),
        load_default=lambda: [*default],
        metadata={"examples": [[*default]], **metadata},
    )


class NewWebhookSchema(Schema):
    """The settings of a webhook."""

    url = Text(MAX_URL, required=True, metadata={"examples": ["https://hooks.example.com/shop"]})
    models = _names("orders")
    kinds = _some_of(tuple(KINDS.values()), tuple(KINDS.values()))
    events = _some_of(EVENTS, ())
    where = fields.Dict(
        fields.String(),
        fields.Dict(),
        attribute="filters",
        load_default=dict,
        metadata={
            "description": "The `where` of each model of which not all rows are sent.",
            "examples": [{"orders": {"status": "paid"}}],
        },
    )
    ordered = fields.Boolean(
        attribute="is_ordered",
        load_default=False,
        metadata={
            "description": "Whether an event of a row waits for the earlier ones of the row."
        },
    )


class WebhookSchema(NewWebhookSchema):
    """A webhook."""

    id = fields.Integer(dump_only=True)
    enabled = fields.Boolean(attribute="is_enabled", dump_only=True)
    created = Timestamp(dump_only=True)
    failures = fields.Integer(
        dump_only=True,
        metadata={"description": "The attempts that have failed since the last one that has not."},
    )
    failingSince = Timestamp(  # noqa: N815
        attribute="failing_since", dump_only=True, allow_none=True
    )


class CreatedWebhookSchema(WebhookSchema):
    """A webhook with its new secret, which is shown once."""

    secret = fields.String(dump_only=True)


class ChangedWebhookSchema(NewWebhookSchema):
    """The settings of a webhook that are changed; others stay as they are."""

    url = Text(MAX_URL)

    def __init__(self) -> None:
        super().__init__(partial=True)


class WebhookDeliverySchema(Schema):
    """A delivery; `status` and `answer` are those of the last attempt."""

    id = fields.Integer(dump_only=True)
    messageId = fields.String(attribute="message_id", dump_only=True)  # noqa: N815
    type = fields.String(dump_only=True)
    state = fields.String(dump_only=True)
    attempts = fields.Integer(dump_only=True)
    created = Timestamp(dump_only=True)
    nextAttempt = Timestamp(attribute="next_attempt", dump_only=True)  # noqa: N815
    finished = Timestamp(dump_only=True, allow_none=True)
    status = fields.Integer(dump_only=True, allow_none=True)
    answer = fields.String(dump_only=True, allow_none=True)
    lastError = fields.String(attribute="last_error", dump_only=True, allow_none=True)  # noqa: N815
