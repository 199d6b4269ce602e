"""The table of the audit log."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId, RowId
from app.database.session import Model
from app.ids import Id
from app.observability.origin import MAX_ADDRESS
from app.times import now

#: Characters of the name of an action, the length of its column.
MAX_ACTION = 32


class AuditRecord(Model):
    """A record of the audit log."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_user_id", "user_id", "id"),
        Index("ix_audit_action", "action", "time"),
        # Ids are in the order of the records, also after a purge.
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    time: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    action: Mapped[str] = mapped_column(String(MAX_ACTION))
    # The acting user and the user concerned. No foreign keys: records outlive deleted users.
    actor_id: Mapped[Id | None] = mapped_column(RowId)
    user_id: Mapped[Id | None] = mapped_column(RowId)
    address: Mapped[str | None] = mapped_column(String(MAX_ADDRESS))
    request_id: Mapped[str | None] = mapped_column(String(64))
    # Contains no secrets.
    details: Mapped[dict[str, Any]] = mapped_column(Json())
