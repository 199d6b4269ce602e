"""The log of changes: its table, and the one with its epoch."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.dialects import BIG_INTEGER, IDS_GIVEN_ONCE
from app.database.session import Model

# The kinds of changes.
CREATE, UPDATE, REMOVE = "create", "update", "remove"


class Change(Model):
    """A change of a row, written by a trigger of the row's table."""

    __tablename__ = "change_log"
    # In the order of a model's changes, for old cursors.
    __table_args__ = (Index("ix_change_log_model", "model", "seq"), IDS_GIVEN_ONCE)

    seq: Mapped[int] = mapped_column(BIG_INTEGER, primary_key=True)
    # The id of the transaction; None on SQLite, which has one writer at a time.
    transaction_id: Mapped[int | None] = mapped_column(BigInteger, index=True)
    model: Mapped[str] = mapped_column(Text)
    row_id: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(String(6))
    # The columns that an update has changed.
    names: Mapped[list[str] | None] = mapped_column(Json(list))
    # The kept values of the row before and after the change, by column.
    before: Mapped[dict[str, Any] | None] = mapped_column(Json(dict))
    after: Mapped[dict[str, Any] | None] = mapped_column(Json(dict))
    created: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    # The id of the user, and of the request, if the service knows them.
    actor: Mapped[str | None] = mapped_column(Text)
    request_id: Mapped[str | None] = mapped_column(Text)


class ChangeActor(Model):
    """Who writes in the current transaction, on SQLite: a row that is there until its commit."""

    __tablename__ = "change_actor"

    # Always 1.
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    actor: Mapped[str] = mapped_column(Text)
    request_id: Mapped[str] = mapped_column(Text)


class ChangeEpoch(Model):
    """The epoch of the log, in one row: cursors of another one are unknown."""

    __tablename__ = "change_epoch"

    # Always 1.
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    epoch: Mapped[str] = mapped_column(String(16))
