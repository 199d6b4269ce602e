"""The audit log's records about a user, as a read-only resource below the user."""

from dataclasses import replace

from flask import Flask
from flask.typing import ResponseReturnValue

from app.access.rules import READ
from app.audit.models import AuditRecord
from app.audit.schemas import AuditRecordSchema
from app.rest.collection import Collection, served_collections
from app.rest.filters.tree import Order, Place
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.views.lists import respond_page
from app.users.models import User
from app.users.resource import users

LATEST_FIRST = (Order(Place("id"), descending=True),)
records = Resource(
    name="audit",
    singular="auditRecord",
    model=AuditRecord,
    schema=AuditRecordSchema,
    # No rule allows any caller another method.
    rules=lambda _settings: [],
)


def init_app(app: Flask) -> None:
    """Add the resource to the OpenAPI document; it has no endpoints of its own."""
    Collection(records, app.config).add_to(app)


@users.endpoint(
    "__get__audit",
    READ,
    "GET /<id>/audit",
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject="audit",
)
def audit_records(user: User) -> ResponseReturnValue:
    """List the records of the audit log about a user, newest first."""
    collection = served_collections.current[records.name]
    filter_ = collection.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or LATEST_FIRST)
    conditions = [AuditRecord.user_id == user.id]
    page = collection.rows.find(conditions, ordered)
    return respond_page(collection, page, lambda: conditions, ordered)
