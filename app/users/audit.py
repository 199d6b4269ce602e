"""The audit log as a resource that is only read, and only below its user."""

from dataclasses import replace

from flask import Flask
from flask.typing import ResponseReturnValue

from app.audit.entries import AuditRecord
from app.ids import Id
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.views.serialization import respond_page

from .schemas import AuditRecordSchema

records = Resource(
    name="audit",
    singular="auditRecord",
    model=AuditRecord,
    schema=AuditRecordSchema,
    # No caller is allowed anything else.
    rules=lambda _settings: [],
)


def init_app(app: Flask) -> None:
    """Make the resource known to the OpenAPI document; it has no endpoints of its own."""
    app.extensions.setdefault("resources", {})[records.name] = records


def respond_records(user_id: Id) -> ResponseReturnValue:
    """Answer with the records about a user that the filter selects, by default the newest first."""
    filter_ = records.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or [AuditRecord.id.desc()])
    conditions = [AuditRecord.user_id == user_id]
    return respond_page(records, records.rows.find(conditions, ordered), conditions, ordered)
