"""Types of columns that are alike on SQLite and PostgreSQL, and their defaults."""

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
