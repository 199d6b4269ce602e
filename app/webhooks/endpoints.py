"""The calls for webhooks, below those of the admin page."""

from collections.abc import Mapping, Sequence
from functools import partial

from flask import request
from sqlalchemy import inspect
from werkzeug.exceptions import Conflict

from app import errors
from app.access.identity import current_identity
from app.access.rules import READ, WRITE
from app.admin.calls import call as admin_call
from app.rest.endpoint import Endpoint
from app.rest.requests.bodies import Body
from app.users.sessions.assurance import NOT_RECENT, require_recent

from . import service
from .models import Webhook, WebhookDelivery
from .schemas import (
    ChangedWebhookSchema,
    CreatedWebhookSchema,
    NewWebhookSchema,
    WebhookDeliverySchema,
    WebhookSchema,
)
from .worker import workers

calls: list[Endpoint] = []
call = partial(admin_call, among=calls)
UNKNOWN = errors.ModelNotFound("webhook", 1)
IS_DISABLED = Conflict("The webhook 1 is disabled.")
INVALID = errors.ValidationError({"url": ["must be an https address"]})
BEFORE = {
    "name": "before",
    "in": "query",
    "description": "The id of a delivery: those before it.",
    "schema": {"type": "integer", "minimum": 1},
}


@call("findWebhooks", READ, "GET /webhooks", answer=[WebhookSchema], summary="List the webhooks")
def find_webhooks() -> Sequence[Webhook]:
    """List the webhooks."""
    return service.list_webhooks()


@call(
    "createWebhook",
    WRITE,
    "POST /webhooks",
    body=NewWebhookSchema,
    answer=CreatedWebhookSchema,
    errors=(NOT_RECENT, INVALID, Conflict("There are 100 webhooks, which is the maximum.")),
    summary="Add a webhook; requires a recent login",
    description="The `secret` of the response verifies signatures, and is not shown again.",
)
def create_webhook(body: Body) -> Mapping[str, object]:
    """Add a webhook; requires a recent login."""
    _require_recent()
    return _with_secret(*service.create(body))


@call(
    "findWebhook",
    READ,
    "GET /webhooks/<id>",
    answer=WebhookSchema,
    errors=(UNKNOWN,),
    summary="Return a webhook",
)
def find_webhook(id: str) -> Webhook:
    """Return a webhook."""
    return service.find(id)


@call(
    "updateWebhook",
    WRITE,
    "PATCH /webhooks/<id>",
    body=ChangedWebhookSchema,
    answer=WebhookSchema,
    errors=(NOT_RECENT, UNKNOWN, INVALID),
    summary="Change some settings of a webhook; requires a recent login",
)
def update_webhook(id: str, body: Body) -> Webhook:
    """Change some settings of a webhook; requires a recent login."""
    _require_recent()
    return service.change(id, body)


@call(
    "deleteWebhook",
    WRITE,
    "DELETE /webhooks/<id>",
    errors=(UNKNOWN,),
    summary="Delete a webhook with its deliveries",
)
def delete_webhook(id: str) -> None:
    """Delete a webhook with its deliveries."""
    service.remove(id)


@call(
    "rotateWebhook",
    WRITE,
    "POST /webhooks/<id>/rotate",
    answer=CreatedWebhookSchema,
    errors=(NOT_RECENT, UNKNOWN),
    summary="Make a new secret; requires a recent login",
    description="For 24 hours, each message also has a signature by the old one.",
)
def rotate_webhook(id: str) -> Mapping[str, object]:
    """Make a new secret; requires a recent login."""
    _require_recent()
    return _with_secret(*service.rotate(id))


@call(
    "testWebhook",
    WRITE,
    "POST /webhooks/<id>/test",
    answer=WebhookDeliverySchema,
    errors=(UNKNOWN, IS_DISABLED),
    summary="Send the event webhooks.test, whose data is empty",
)
def test_webhook(id: str) -> WebhookDelivery:
    """Send the event webhooks.test, whose data is empty."""
    delivery = service.test(id)
    workers.current.wake()
    return delivery


@call(
    "enableWebhook",
    WRITE,
    "POST /webhooks/<id>/enable",
    answer=WebhookSchema,
    errors=(UNKNOWN,),
    summary="Send again; what happened meanwhile is not sent",
)
def enable_webhook(id: str) -> Webhook:
    """Send again; what happened meanwhile is not sent."""
    return service.enable(id)


@call(
    "disableWebhook",
    WRITE,
    "POST /webhooks/<id>/disable",
    answer=WebhookSchema,
    errors=(UNKNOWN,),
    summary="Send nothing any more",
)
def disable_webhook(id: str) -> Webhook:
    """Send nothing any more."""
    return service.disable(id)


@call(
    "findWebhookDeliveries",
    READ,
    "GET /webhooks/<id>/deliveries",
    answer=[WebhookDeliverySchema],
    parameters=(BEFORE,),
    errors=(UNKNOWN, errors.ValidationError({"before": ["must be an id"]})),
    summary="List 100 deliveries of a webhook, newest first",
)
def find_deliveries(id: str) -> Sequence[WebhookDelivery]:
    """List 100 deliveries of a webhook, newest first."""
    before = request.args.get("before")
    if before is not None and not (before.isascii() and before.isdigit() and len(before) < 19):
        raise errors.ValidationError({"before": ["must be an id"]})
    return service.list_deliveries(id, None if before is None else int(before))


@call(
    "resendWebhookDelivery",
    WRITE,
    "POST /webhooks/<id>/deliveries/<delivery>/resend",
    answer=WebhookDeliverySchema,
    errors=(
        errors.ModelNotFound("delivery", 1),
        Conflict("The delivery waits for its next attempt."),
    ),
    summary="Send a delivery again",
    description="It has the same `webhook-id`, and a new time and signature.",
)
def resend_delivery(id: str, delivery: str) -> WebhookDelivery:
    """Send a delivery again."""
    found = service.resend(id, delivery)
    workers.current.wake()
    return found


def _require_recent() -> None:
    require_recent(current_identity().require_session())


def _with_secret(webhook: Webhook, secret: str) -> Mapping[str, object]:
    names, _ = zip(*inspect(Webhook).columns.items(), strict=True)
    return {**{name: getattr(webhook, name) for name in names}, "secret": secret}
