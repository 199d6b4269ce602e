"""The schema of the audit log's records."""

from marshmallow import fields

from app.database.ids import IntegerId
from app.fields.base import Id, Schema, Timestamp
from app.fields.json import Object

from .entries import Action
from .models import MAX_ACTION


class AuditRecordSchema(Schema):
    """A record of the audit log: who did what, and from where."""

    id = Id(IntegerId, dump_only=True)
    time = Timestamp(dump_only=True)
    action = fields.String(
        dump_only=True,
        metadata={"maxLength": MAX_ACTION, "examples": [Action.LOGIN.value]},
    )
    actorId = Id(attribute="actor_id", dump_only=True, allow_none=True)  # noqa: N815
    userId = Id(attribute="user_id", dump_only=True, allow_none=True)  # noqa: N815
    address = fields.String(dump_only=True, allow_none=True)
    requestId = fields.String(  # noqa: N815
        attribute="request_id", dump_only=True, allow_none=True
    )
    details = Object(dump_only=True)
