"""What the service records: the audit log, the deliveries of the outbox, and locks of throttles."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from flask import Flask
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import registry
from werkzeug.exceptions import Conflict

from app import errors, ids
from app.access.rules import READ, WRITE
from app.admin.calls import FILTER_ERRORS, call
from app.admin.schemas import DeliverySchema, LockSchema
from app.outbox import maintenance
from app.outbox.models import Delivery, OutboxEvent
from app.rest.collection import Collection, served_collections
from app.rest.filters.tree import Filter, Order, Place
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.views.lists import respond_objects, respond_page
from app.rest.views.serialization import serialize
from app.throttles import Lock, find_locks, release
from app.users.views.accounts import LATEST_FIRST

# The same order; the records of one action have an index for it.
LATEST_OF_ACTION = (Order(Place("time"), descending=True), *LATEST_FIRST)
DELIVERIES = "admin.outbox"
UNKNOWN_DELIVERY = errors.ModelNotFound("delivery", 1)
OTHER_STATE = Conflict("The delivery is delivered; those that failed or expired are retried.")
# The name of the schemas in the OpenAPI document.
ListedDelivery = type("ListedDelivery", (), {})
_rows = (
    select(
        Delivery.id,
        OutboxEvent.event,
        Delivery.subscriber,
        Delivery.state,
        Delivery.attempts,
        OutboxEvent.created,
        OutboxEvent.deadline,
        OutboxEvent.request_id,
        Delivery.last_error,
    )
    .join(OutboxEvent)
    .subquery("listed_deliveries")
)
registry().map_imperatively(ListedDelivery, _rows, primary_key=[_rows.c.id])
resource = Resource(
    name=DELIVERIES,
    singular="delivery",
    description="A delivery of the outbox: a mail, or application code that runs after an event.",
    model=ListedDelivery,
    schema=DeliverySchema,
    # No rule allows any caller a method of this resource.
    rules=lambda _settings: [],
    is_public=False,
)
UNKNOWN_LOCK = errors.ModelNotFound("throttle", "login_identity/0123456789abcdef")


@call(
    "findAudit",
    READ,
    "GET /audit",
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject="audit",
    errors=FILTER_ERRORS,
    summary="List the records of the audit log that a filter selects, newest first",
)
def find_audit() -> ResponseReturnValue:
    """List the records of the audit log that a filter selects, newest first."""
    collection = served_collections.current["audit"]
    filter_ = collection.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or _latest_first(filter_))
    count = partial(collection.rows.count, [], ordered)
    return respond_page(collection, collection.rows.find([], ordered), count, ordered)


def _latest_first(filter_: Filter) -> tuple[Order, ...]:
    where = filter_.raw.get("where")
    is_of_action = isinstance(where, dict) and isinstance(where.get("action"), str)
    return LATEST_OF_ACTION if is_of_action else LATEST_FIRST


def init_app(app: Flask) -> None:
    """Add the resource to the OpenAPI document; it has no endpoints of its own."""
    Collection(resource, app.config).add_to(app)


@call(
    "findOutbox",
    READ,
    "GET /outbox",
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject=DELIVERIES,
    errors=FILTER_ERRORS,
    summary="List the deliveries of the outbox that a filter selects, newest first",
)
def find_outbox() -> ResponseReturnValue:
    """List the deliveries of the outbox that a filter selects, newest first."""
    collection = served_collections.current[DELIVERIES]
    filter_ = collection.parse(read_parameter("filter"))
    ordered = replace(filter_, order=filter_.order or LATEST_FIRST)
    page = collection.rows.find([], ordered)
    objects = serialize(collection, page.rows, ordered)
    if ordered.fields is None:
        recipients = maintenance.find_recipients([row["id"] for row in objects])
        pairs = zip(objects, recipients, strict=True)
        objects = [{**row, "recipient": recipient} for row, recipient in pairs]
    count = partial(collection.rows.count, [], ordered)
    return respond_objects(collection, objects, page, count, ordered)


@call(
    "retryDelivery",
    WRITE,
    "POST /outbox/<id>/retry",
    errors=(UNKNOWN_DELIVERY, OTHER_STATE),
    summary="Retry a failed or expired delivery, for as long as a new one",
)
def retry(id: str) -> None:
    """Retry a failed or expired delivery, for as long as a new one."""
    maintenance.retry_one(_parse(id))


@call(
    "giveUpDelivery",
    WRITE,
    "POST /outbox/<id>/giveUp",
    errors=(UNKNOWN_DELIVERY, OTHER_STATE),
    summary="Cancel a pending or scheduled delivery",
)
def give_up(id: str) -> None:
    """Cancel a pending or scheduled delivery."""
    maintenance.give_up(_parse(id))


def _parse(text: str) -> int:
    delivery_id = ids.INTEGER.parse(text)
    if not isinstance(delivery_id, int):
        raise errors.ModelNotFound("delivery", text)
    return delivery_id


@call(
    "findThrottles",
    READ,
    "GET /throttles",
    answer=[LockSchema],
    summary="List at most 1000 locked keys, those that stay locked longest first",
)
def find_throttles() -> Sequence[Lock]:
    """List at most 1000 locked keys, those that stay locked longest first."""
    return find_locks()


@call(
    "releaseThrottle",
    WRITE,
    "DELETE /throttles/<throttle>/<key>",
    errors=(UNKNOWN_LOCK,),
    summary="Reset a throttle's counter for a key, so that it is not locked any more",
)
def release_throttle(throttle: str, key: str) -> None:
    """Reset a throttle's counter for a key, so that it is not locked any more."""
    release(throttle, key)
