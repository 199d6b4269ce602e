"""The tables of the outbox: events, and their delivery to each subscriber."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId
from app.database.session import Model
from app.observability.origin import MAX_JOINED_LANGUAGES
from app.times import now

# The states of a delivery.
PENDING = "pending"
SCHEDULED = "scheduled"
DELIVERED = "delivered"
FAILED = "failed"
EXPIRED = "expired"
OBSOLETE = "obsolete"
FINAL_STATES = (DELIVERED, FAILED, EXPIRED, OBSOLETE)
# Those of deliveries that will be attempted: at once, or not before a time.
WAITING_STATES = (PENDING, SCHEDULED)
STATES = (*WAITING_STATES, *FINAL_STATES)

#: Maximum characters of a stored failure reason.
MAX_REASON = 200
#: Maximum characters of the key of an event.
MAX_KEY = 255


class DeliveryError(Exception):
    """A delivery failed, and will be retried.

    The text is logged and stored: it must not contain a secret or an address.
    """


class UndeliverableError(DeliveryError):
    """A delivery failed, and would fail again."""


class DeferredError(DeliveryError):
    """A delivery must wait for as long as necessary: its deadline is extended.

    It is dropped if a later delivery of the same event has the same data.
    """


@dataclass(frozen=True)
class Attempt:
    """An attempt to deliver an event; its payload may depend on it."""

    number: int
    deadline: datetime
    subscriber: str
    # Whether an operator requested another try after the last one failed.
    is_retried: bool = False
    # The `secret` passed to `record`; only for the first attempt, by the same process.
    secret: str | None = field(default=None, repr=False)


# Few events have a key.
HAS_KEY = text("key IS NOT NULL")


class OutboxEvent(Model):
    """An event, with the data for its payload, which never contains secrets."""

    __tablename__ = "outbox"
    __table_args__ = (
        # In the database it has the events with a key alone (HAS_KEY), as the migration says. Here
        # that would import the dialects of all databases.
        Index("ix_outbox_event_key", "event", "key", unique=True),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    event: Mapped[str] = mapped_column(String(64))
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now, index=True)
    # Seconds for which delivery is tried, since the event or the last retry.
    lifetime: Mapped[float]
    deadline: Mapped[datetime] = mapped_column(UtcDateTime)
    # None for an event recorded by a command.
    request_id: Mapped[str | None] = mapped_column(String(64))
    # The client's preferences, joined by commas; None if there are none.
    languages: Mapped[str | None] = mapped_column(String(MAX_JOINED_LANGUAGES))
    # Identifies an event among those of its name that may be replaced or cancelled.
    key: Mapped[str | None] = mapped_column(String(MAX_KEY))


class Delivery(Model):
    """The delivery of an event to one subscriber."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("ix_deliveries_state_next_attempt", "state", "next_attempt"),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    event_id: Mapped[int] = mapped_column(ForeignKey("outbox.id", ondelete="CASCADE"), index=True)
    subscriber: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16), default=PENDING)
    attempts: Mapped[int] = mapped_column(default=0)
    # When a worker may claim it: during an attempt, the end of its lease; of a scheduled one, by
    # the clock of the database.
    next_attempt: Mapped[datetime] = mapped_column(UtcDateTime)
    is_retried: Mapped[bool] = mapped_column(default=False)
    last_error: Mapped[str | None] = mapped_column(String(MAX_REASON))
    finished: Mapped[datetime | None] = mapped_column(UtcDateTime)
