"""What is to be sent: changes of rows, read from the log, and events of users.

A delivery is recorded in a transaction with the position up to which the log was read, so that each
committed change is sent at least once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from flask import Flask, current_app
from sqlalchemy import ColumnElement, and_, insert, inspect, select, true, update

from app.audit.entries import Action
from app.changes import log
from app.changes.events import events_of_all_rows
from app.changes.log import Position, Snapshot
from app.changes.models import CREATE, REMOVE, UPDATE
from app.changes.watched import watched_models
from app.database.session import affected_rows, connection, db, transaction
from app.errors import InvalidFilter
from app.http.responses import encode_json
from app.ids import Id
from app.outbox import Payload
from app.rest.filters.tree import Filter
from app.times import iso_time, now
from app.users.models import User
from app.users.user_models import has_several

from .models import PENDING, Webhook, WebhookDelivery
from .signing import encryption, new_message_id

#: Seconds for which a delivery is tried.
LIFETIME = 3 * 86400
#: Seconds after which the position of a webhook is stored although no change concerns it.
READ_INTERVAL = 60
# How the kinds of changes are named in the types of events.
KINDS = {CREATE: "created", UPDATE: "updated", REMOVE: "removed"}
# Changes may be missing: the receiver must read the rows of the models anew.
RESYNC = "resync"
# The event whose data has a token: it is sent where it is named, and its body is not kept.
RESET = "resetPasswordRequest"
USER_EVENTS = {
    Action.REGISTERED.value: "users.created",
    Action.USER_DELETED.value: "users.deleted",
    Action.USER_DISABLED.value: "users.disabled",
    Action.LOGIN.value: "users.loggedIn",
}
ALL_USER_EVENTS = "users.*"
EVENTS = (*USER_EVENTS.values(), ALL_USER_EVENTS, RESET)
USERS = inspect(User).columns


class LeaseEndedError(Exception):
    """Another process works on the webhook now."""


def from_now_on() -> dict[str, Any]:
    """Return the columns of a webhook to which what happens from now on is sent."""
    return {"position": _stored(log.epoch(), Position(log.snapshot())), "read_at": now()}


def has_changes(webhook: Webhook, epoch: str, current: Snapshot) -> bool:
    """Return True if the log has changes for a webhook, or its position is to be stored again."""
    if not webhook.models:
        return False
    position = _position(webhook, epoch)
    if position is None or log.read(position, webhook.models, current, most=1).changes:
        return True
    return webhook.read_at < now() - timedelta(seconds=READ_INTERVAL)


def is_leased(webhook: Webhook) -> ColumnElement[bool]:
    """Return the condition that nobody has taken the lease of a webhook since it was read."""
    return and_(Webhook.id == webhook.id, Webhook.claims == webhook.claims)


def record_changes(webhook: Webhook) -> bool:
    """Record deliveries of a page of changes; return whether there are more.

    Raises LeaseEndedError.
    """
    with transaction():
        epoch, current = log.epoch(), log.snapshot()
        position, models = _position(webhook, epoch), webhook.models
        if position is None:
            # After a failover, a restore or a long pause, changes may be missing.
            page = log.Page([], Position(current), has_more=False)
            add(webhook.id, [(RESYNC, None, {"models": models}, now())])
        else:
            filters = {name: parse_where(name, webhook.filters.get(name)) for name in models}
            page = log.read(position, filters, current)
            add(webhook.id, _messages(webhook, filters, page.changes))
        webhook.position, webhook.read_at = _stored(epoch, page.position), now()
        moved = update(Webhook).where(is_leased(webhook))
        moved = moved.execution_options(synchronize_session=False)
        if not affected_rows(moved.values(position=webhook.position, read_at=webhook.read_at)):
            raise LeaseEndedError
    return page.has_more


def parse_where(model: str, where: object) -> Filter:
    """Return the filter of a model; raise InvalidFilter."""
    watched = watched_models.current.get(model)
    if watched is None:
        raise InvalidFilter(f"the changes of {model} are not recorded.")
    return watched.collection.parse({} if where is None else {"where": where})


def follow_users(action: str, user_ids: Sequence[Id | None]) -> None:
    """Record the event of an action of the audit log, in its transaction."""
    event = USER_EVENTS.get(action)
    if event is None:
        return
    webhooks = _subscribed(event, ALL_USER_EVENTS)
    for user_id in user_ids if webhooks else ():
        data = _user(user_id)
        for webhook_id in webhooks:
            add(webhook_id, [(event, f"user/{user_id}", data, now())])


def send_reset(app: Flask, info: Payload) -> str | None:
    """Record the request to reset a password, with its token, where it is named."""
    webhooks, token = _subscribed(RESET), info["accessToken"]
    data = {
        "accessToken": {"id": token.id, "ttl": token.ttl},
        "email": info["email"],
        "userId": info["user"].id,
    }
    with transaction():
        for webhook_id in webhooks:
            add(webhook_id, [(RESET, None, data, now())], lifetime=token.ttl)
    return f"recorded for {len(webhooks)} webhooks" if webhooks else None


# Type, row, data and time.
Message = tuple[str, str | None, Mapping[str, Any], datetime]


def add(webhook_id: int, messages: Iterable[Message], lifetime: float = LIFETIME) -> list[str]:
    """Record deliveries, due at once; return the ids of their messages."""
    moment = now()
    rows = [
        {
            "webhook_id": webhook_id,
            "message_id": new_message_id(),
            "type": type_,
            "row_key": row,
            "body": _body(type_, data, time),
            "state": PENDING,
            "attempts": 0,
            "created": moment,
            "deadline": moment + timedelta(seconds=lifetime),
            "next_attempt": moment,
        }
        for type_, row, data, time in messages
    ]
    if rows:
        with connection() as database:
            database.execute(insert(WebhookDelivery), rows)
    return [str(row["message_id"]) for row in rows]


def _body(type_: str, data: Mapping[str, Any], time: datetime) -> str:
    message = {"type": type_, "timestamp": iso_time(time), "data": data}
    return encryption.current.encrypt(encode_json(message).decode().rstrip())


def _messages(
    webhook: Webhook, filters: Mapping[str, Filter], changes: Sequence[Any]
) -> Iterator[Message]:
    times = {(change.model, change.row_id): change.created for change in changes}
    for event in events_of_all_rows(filters, changes):
        if event.type is None:
            yield RESYNC, None, {"models": [event.model]}, now()
        elif KINDS[event.type] in webhook.kinds:
            sent = event.to_json()
            row, time = (event.model, str(event.target)), now()
            type_ = f"{event.model}.{KINDS[event.type]}"
            yield type_, "/".join(row), sent.get("data", sent["where"]), times.get(row, time)


def _subscribed(*events: str) -> list[int]:
    """Return the ids of the webhooks that are sent one of the events."""
    chosen = select(Webhook.id, Webhook.events).where(Webhook.is_enabled == true())
    rows = db.session.execute(chosen.order_by(Webhook.id)).all()
    return [row.id for row in rows if not set(events).isdisjoint(row.events)]


def _user(user_id: Id | None) -> dict[str, Any]:
    """Return what is sent of a user: only the id if there is none any more."""
    names = "id", "realm", "username", "email", "email_verified", "principal_type"
    columns = (USERS[name] for name in names)
    row = db.session.execute(select(*columns).where(USERS.id == user_id)).first()
    if row is None:
        return {"id": user_id}
    model = row.principal_type if has_several() else None
    named = {"principalType": model, "realm": row.realm, "username": row.username}
    given = {name: value for name, value in named.items() if value}
    return {"id": row.id, **given, "email": row.email, "emailVerified": row.email_verified}


def _stored(epoch: str, position: Position) -> dict[str, Any]:
    """Return a position as JSON."""
    return {"epoch": epoch, "since": position.since, "until": position.until, "seq": position.seq}


def _position(webhook: Webhook, epoch: str) -> Position | None:
    """Return the position of a webhook; None if the log may lack changes that follow it."""
    stored = webhook.position
    oldest = now() - timedelta(seconds=current_app.config["CHANGES_RETENTION"])
    if stored["epoch"] != epoch or webhook.read_at < oldest:
        return None
    until = stored["until"]
    return Position(_snapshot(stored["since"]), until and _snapshot(until), stored["seq"])


def _snapshot(stored: Sequence[Any]) -> Snapshot:
    end, running = stored
    return Snapshot(end, tuple(running))
