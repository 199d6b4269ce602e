"""Adding, changing and removing webhooks, and their deliveries."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from sqlalchemy import delete, exists, func, select, true, update
from werkzeug.exceptions import Conflict

from app import outbox
from app.access.admins import is_admin
from app.audit.entries import Action, record
from app.changes.watched import watched_models
from app.connector import BlockedHostError
from app.database.purging import delete_batch
from app.database.session import affected_rows, db, transaction
from app.errors import InvalidFilter, ModelNotFound, ValidationError
from app.mail.delivery import transmit
from app.outbox import Payload
from app.problems import suggest
from app.times import now
from app.users.models import User

from .models import PENDING, Webhook, WebhookDelivery
from .recording import LIFETIME, RESET, add, from_now_on, parse_where
from .sending import senders
from .signing import encryption, new_secret

#: Maximum webhooks of a service.
MAX_WEBHOOKS = 100
#: Seconds for which the secret before the last one is valid.
ROTATION = 86400
#: Problems of the models that an error names.
MAX_PROBLEMS = 10
#: Deliveries of a page.
PAGE = 100
# The subscriber and the event of the outbox; the type of a test.
NAME, DISABLED, TEST = "webhooks", "webhookDisabled", "webhooks.test"
# Seconds for which the mail about a disabled webhook is tried.
MAIL_LIFETIME = 86400


def list_webhooks() -> Sequence[Webhook]:
    """Return all webhooks."""
    return db.session.scalars(select(Webhook).order_by(Webhook.id)).all()


def find(webhook_id: str | int) -> Webhook:
    """Return a webhook; raise ModelNotFound."""
    number = _number(webhook_id)
    webhook = None if number is None else db.session.get(Webhook, number)
    if webhook is None:
        raise ModelNotFound("webhook", webhook_id)
    return webhook


def create(values: Mapping[str, Any]) -> tuple[Webhook, str]:
    """Add a webhook, to which what happens from now on is sent; return it and its secret.

    Raises ValidationError, or Conflict for too many.
    """
    _check(values)
    secret = new_secret()
    with transaction():
        if db.session.scalars(select(func.count()).select_from(Webhook)).one() >= MAX_WEBHOOKS:
            raise Conflict(f"There are {MAX_WEBHOOKS} webhooks, which is the maximum.")
        encrypted = encryption.current.encrypt(secret)
        webhook = Webhook(**values, secret=encrypted, **from_now_on())
        db.session.add(webhook)
        db.session.flush()
        # The rest of some addresses is a secret.
        record(Action.WEBHOOK_CREATED, webhook=webhook.id, host=urlsplit(webhook.url).hostname)
    return webhook, secret


def change(webhook_id: str, values: Mapping[str, Any]) -> Webhook:
    """Change the settings of a webhook; raise ModelNotFound or ValidationError."""
    webhook = find(webhook_id)
    names = ("url", "models", "kinds", "events", "filters", "is_ordered")
    _check({**{name: getattr(webhook, name) for name in names}, **values})
    begin = {} if webhook.models else from_now_on()
    return _change(webhook, "settings", **values, **begin)


def remove(webhook_id: str | int) -> None:
    """Delete a webhook with its deliveries; raise ModelNotFound."""
    with transaction():
        webhook = find(webhook_id)
        affected_rows(delete(Webhook).where(Webhook.id == webhook.id))
        record(Action.WEBHOOK_DELETED, webhook=webhook.id)


def rotate(webhook_id: str | int) -> tuple[Webhook, str]:
    """Make a new secret; the old one also signs for ROTATION seconds. Raises ModelNotFound."""
    webhook, secret = find(webhook_id), new_secret()
    until = now() + timedelta(seconds=ROTATION)
    old = {"old_secret": webhook.secret, "old_secret_until": until}
    new = encryption.current.encrypt(secret)
    return _change(webhook, "secret", secret=new, **old), secret


def enable(webhook_id: str | int) -> Webhook:
    """Send what happens from now on; raise ModelNotFound."""
    webhook = find(webhook_id)
    if webhook.is_enabled:
        return webhook
    anew = {"failures": 0, "failing_since": None, **from_now_on()}
    return _change(webhook, "enabled", is_enabled=True, **anew)


def disable(webhook_id: str | int) -> Webhook:
    """Send nothing any more; raise ModelNotFound."""
    return _change(find(webhook_id), "disabled", is_enabled=False)


def test(webhook_id: str | int) -> WebhookDelivery:
    """Record a delivery for a test; raise ModelNotFound, or Conflict if it is disabled."""
    webhook = find(webhook_id)
    _require_enabled(webhook)
    with transaction():
        [message_id] = add(webhook.id, [(TEST, None, {}, now())])
        recorded = select(WebhookDelivery).where(WebhookDelivery.webhook_id == webhook.id)
        return db.session.scalars(recorded.where(WebhookDelivery.message_id == message_id)).one()


def list_deliveries(webhook_id: str, before: int | None = None) -> Sequence[WebhookDelivery]:
    """Return a page of deliveries, newest first, before one with this id; raise ModelNotFound."""
    chosen = select(WebhookDelivery).where(WebhookDelivery.webhook_id == find(webhook_id).id)
    if before is not None:
        chosen = chosen.where(WebhookDelivery.id < before)
    return db.session.scalars(chosen.order_by(WebhookDelivery.id.desc()).limit(PAGE)).all()


def resend(webhook_id: str, delivery_id: str) -> WebhookDelivery:
    """Send a delivery again that has been sent, or has failed.

    Raises ModelNotFound, or Conflict for one that waits, or whose body was not kept.
    """
    webhook, number = find(webhook_id), _number(delivery_id)
    delivery = None if number is None else db.session.get(WebhookDelivery, number)
    if delivery is None or delivery.webhook_id != webhook.id:
        raise ModelNotFound("delivery", delivery_id)
    _require_enabled(webhook)
    if delivery.type == RESET:
        raise Conflict(f"A delivery of {RESET} is sent once: it has a token.")
    moment = now()
    values = {
        "state": PENDING,
        "attempts": 0,
        "finished": None,
        "next_attempt": moment,
        "deadline": moment + timedelta(seconds=LIFETIME),
    }
    finished = WebhookDelivery.id == delivery.id, WebhookDelivery.state != PENDING
    if not affected_rows(update(WebhookDelivery).where(*finished).values(values)):
        raise Conflict("The delivery waits for its next attempt.")
    db.session.refresh(delivery)
    return delivery


def give_up(webhook: Webhook, reason: str) -> None:
    """Disable a webhook whose receiver does not work; record it, and tell the admins."""
    with transaction():
        enabled = Webhook.id == webhook.id, Webhook.is_enabled == true()
        disabled = update(Webhook).where(*enabled).values(is_enabled=False)
        if not affected_rows(disabled.execution_options(synchronize_session=False)):
            return
        record(Action.WEBHOOK_GIVEN_UP, webhook=webhook.id, reason=reason)
        admins = select(User.email).where(is_admin(User.id), User.email_verified == true())
        for email in db.session.scalars(admins.order_by(User.id).limit(PAGE)):
            data = {"email": email, "webhook": webhook.id, "reason": reason}
            outbox.record(DISABLED, data, MAIL_LIFETIME)


def send_notice(app: Flask, info: Payload) -> str:
    """Tell an admin that a webhook was disabled.

    Variables of `webhook_disabled`: `webhook`, its id (int), and the `reason` (str).
    """
    context = {"webhook": info["webhook"], "reason": info["reason"]}
    return transmit(app, "webhook_disabled", info["email"], context)


def purge_batch(older_than: timedelta) -> int:
    """Delete deliveries that ended before, at most PURGE_BATCH; return their number."""
    before = now() - older_than
    # Those of webhooks that are disabled are not tried any more.
    enabled = exists().where(Webhook.id == WebhookDelivery.webhook_id, Webhook.is_enabled == true())
    chosen = select(WebhookDelivery.id).where(WebhookDelivery.created < before)
    has_ended = (WebhookDelivery.state != PENDING) | ~enabled
    return delete_batch(chosen.where(has_ended).order_by(WebhookDelivery.created), has_ended)


def _change(webhook: Webhook, what: str, **values: Any) -> Webhook:
    # Who works on it has the old settings: its lease ends.
    values |= {"claims": Webhook.claims + 1, "next_attempt": now()}
    with transaction():
        affected_rows(update(Webhook).where(Webhook.id == webhook.id).values(values))
        record(Action.WEBHOOK_CHANGED, webhook=webhook.id, change=what)
    db.session.refresh(webhook)
    return webhook


def _require_enabled(webhook: Webhook) -> None:
    if not webhook.is_enabled:
        raise Conflict(f"The webhook {webhook.id} is disabled.")


def _number(text: str | int) -> int | None:
    """Return an id from a path; None if it is none."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _check(values: Mapping[str, Any]) -> None:
    """Raise ValidationError for settings that cannot be used."""
    problems: dict[str, list[str]] = {}
    try:
        senders.current.policy.check(values["url"])
    except (ValueError, BlockedHostError) as error:
        problems["url"] = [str(error)]
    if found := list(_problems_of_models(values["models"], values["filters"])):
        problems["models"] = found[:MAX_PROBLEMS]
    if not values["models"] and not values["events"]:
        problems["models"] = ["or events must name something to send"]
    if problems:
        raise ValidationError(problems)


def _problems_of_models(names: Sequence[str], wheres: Mapping[str, object]) -> Iterator[str]:
    known = watched_models.current
    for name in names:
        if name not in known:
            yield f"has {name[:100]!r}, whose changes are not recorded{suggest(name, known)}"
    for name, where in wheres.items():
        if name not in names:
            yield f"lacks {name[:100]!r}, which has a where"
        elif name in known and (problem := _problem_of(name, where)):
            yield f"{name}: {problem}"


def _problem_of(model: str, where: object) -> str | None:
    """Return what is wrong with the `where` of a model."""
    try:
        filter_ = parse_where(model, where)
    except InvalidFilter as error:
        return str(error.description).rstrip(".")
    return "cannot use relations" if filter_.relations else None
