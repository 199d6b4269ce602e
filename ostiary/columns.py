"""Column types that behave alike on SQLite and PostgreSQL, and their defaults.

SQLAlchemy's `String`, `Text`, `Date`, `Uuid`, `Integer`, `Boolean` and `Float` may be used, too.
Types of ids have the form of their ids; a foreign key has the type of the column that it refers
to::

    import datetime
    import decimal
    import uuid

    from sqlalchemy import Date, String, Text, Uuid
    from sqlalchemy.orm import Mapped, mapped_column

    from ostiary.columns import (
        IDS_GIVEN_ONCE,
        ExactDecimal,
        GeoPoint,
        Id,
        IntegerId,
        Json,
        ObjectId,
        Position,
        RowId,
        TextId,
        UtcDateTime,
        UuidId,
        new_id,
        now,
    )
    from ostiary.database import Model


    class Edition(Model):
        __tablename__ = "editions"
        # The id of a row that was deleted is never given again.
        __table_args__ = (IDS_GIVEN_ONCE,)

        id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
        isbn: Mapped[str] = mapped_column(TextId(13), unique=True)
        title: Mapped[str] = mapped_column(String(100))
        blurb: Mapped[str] = mapped_column(Text)
        kind: Mapped[str] = mapped_column(String(20))
        pages: Mapped[int | None]
        printed: Mapped[int]
        weight: Mapped[float]
        price: Mapped[decimal.Decimal] = mapped_column(ExactDecimal(8, 2))
        in_print: Mapped[bool]
        published: Mapped[datetime.date] = mapped_column(Date)
        batch: Mapped[uuid.UUID | None] = mapped_column(Uuid)
        created: Mapped[datetime.datetime] = mapped_column(UtcDateTime, default=now)
        tags: Mapped[list[str]] = mapped_column(Json(list))
        size: Mapped[dict[str, object]] = mapped_column(Json(dict))
        printed_at: Mapped[Position] = mapped_column(GeoPoint)
        # An id that other services know the row by, and ids of theirs.
        key: Mapped[str] = mapped_column(UuidId, default=lambda: new_id(UuidId()))
        mongo_id: Mapped[str | None] = mapped_column(ObjectId)
        # The id of a user, of the type that the setting ID_TYPE says.
        editor_id: Mapped[Id | None] = mapped_column(RowId)
"""

from app.database.columns import ExactDecimal, GeoPoint, Json, Position, UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId, ObjectId, RowId, TextId, UuidId, new_id
from app.ids import Id
from app.times import now

__all__ = [
    "IDS_GIVEN_ONCE",
    "ExactDecimal",
    "GeoPoint",
    "Id",
    "IntegerId",
    "Json",
    "ObjectId",
    "Position",
    "RowId",
    "TextId",
    "UtcDateTime",
    "UuidId",
    "new_id",
    "now",
]
