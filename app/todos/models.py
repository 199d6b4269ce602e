"""The table of to-dos."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import RowId
from app.database.session import Model
from app.ids import Id
from app.times import now


class Todo(Model):
    """A task of its owner."""

    __tablename__ = "todos"
    __table_args__ = (
        # For listing an owner's rows by id.
        Index("ix_todos_owner_id_id", "owner_id", "id"),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(255))
    desc: Mapped[str | None] = mapped_column(Text)
    is_complete: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    owner_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
