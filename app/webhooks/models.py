"""The tables of webhooks: where events are sent, and each delivery."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId
from app.database.session import Model
from app.times import now

# The states of a delivery.
PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"
#: Characters of an answer, and of an error, that are stored.
MAX_STORED = 200


class Webhook(Model):
    """An address to which events are sent."""

    __tablename__ = "webhooks"
    __table_args__ = (IDS_GIVEN_ONCE,)

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    # The models whose changes are sent, the kinds of these changes, and the names of other events.
    models: Mapped[list[str]] = mapped_column(Json(list))
    kinds: Mapped[list[str]] = mapped_column(Json(list))
    events: Mapped[list[str]] = mapped_column(Json(list))
    # The `where` of each model that has one.
    filters: Mapped[dict[str, Any]] = mapped_column(Json(dict))
    is_ordered: Mapped[bool]
    is_enabled: Mapped[bool] = mapped_column(default=True)
    # Encrypted; the old one is valid for a time after a new one was made.
    secret: Mapped[str] = mapped_column(Text)
    old_secret: Mapped[str | None] = mapped_column(Text)
    old_secret_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # Up to where the log of changes was read, and when.
    position: Mapped[dict[str, Any]] = mapped_column(Json(dict))
    read_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # When a process may work on it: during its work, the end of its lease.
    next_attempt: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # The number of leases, which also shows whether one is still a process's.
    claims: Mapped[int] = mapped_column(default=0)
    # The failed attempts since the last one that succeeded, and when they began.
    failures: Mapped[int] = mapped_column(default=0)
    failing_since: Mapped[datetime | None] = mapped_column(UtcDateTime)


class WebhookDelivery(Model):
    """An event that is sent to an address."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index(
            "ix_webhook_deliveries_webhook_id_state_next_attempt",
            "webhook_id",
            "state",
            "next_attempt",
        ),
        # For those that wait for the earlier ones of their row.
        Index(
            "ix_webhook_deliveries_webhook_id_state_row_key_id",
            "webhook_id",
            "state",
            "row_key",
            "id",
        ),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    # The header `webhook-id`: the same in all attempts.
    message_id: Mapped[str] = mapped_column(String(40))
    type: Mapped[str] = mapped_column(Text)
    # The model and the id of the row that it is about.
    row_key: Mapped[str | None] = mapped_column(Text)
    # What is sent, encrypted; deleted once it is sent if it has a token.
    body: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), default=PENDING)
    attempts: Mapped[int] = mapped_column(default=0)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now, index=True)
    deadline: Mapped[datetime] = mapped_column(UtcDateTime)
    next_attempt: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    finished: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # The last attempt's: the status and the first characters of the answer, or why there is none.
    status: Mapped[int | None]
    answer: Mapped[str | None] = mapped_column(String(MAX_STORED))
    last_error: Mapped[str | None] = mapped_column(String(MAX_STORED))
