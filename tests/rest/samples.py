"""A model with a property of every type, and rows of it."""

import decimal
from datetime import UTC, date, datetime
from uuid import UUID

from marshmallow import fields
from sqlalchemy import Date as DateColumn
from sqlalchemy import Enum, Float, Integer, String, Uuid
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import EVERYONE, allow
from app.database.columns import ExactDecimal, GeoPoint, Json, Position, UtcDateTime
from app.database.ids import RowId
from app.fields.base import (
    Boolean,
    Date,
    Decimal,
    Enumeration,
    Int32,
    Number,
    Schema,
    Text,
    Timestamp,
)
from app.fields.base import Uuid as UuidField
from app.fields.json import Array, GeoPointField, Object
from app.rest.resource import Resource


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Sample(Base):
    __tablename__ = "samples"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    text: Mapped[str | None] = mapped_column(String(100))
    count: Mapped[int | None] = mapped_column(Integer)
    ratio: Mapped[float | None] = mapped_column(Float)
    flag: Mapped[bool | None]
    at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    due_on: Mapped[date | None] = mapped_column(DateColumn)
    price: Mapped[decimal.Decimal | None] = mapped_column(ExactDecimal(8, 2))
    code: Mapped[UUID | None] = mapped_column(Uuid)
    status: Mapped[str | None] = mapped_column(String(10))
    color: Mapped[str | None] = mapped_column(Enum("red", "green", native_enum=False))
    address: Mapped[dict | None] = mapped_column(Json(dict))
    tags: Mapped[list | None] = mapped_column(Json(list))
    parts: Mapped[list | None] = mapped_column(Json(list))
    related_ids: Mapped[list | None] = mapped_column(Json(list, float))
    flags: Mapped[list | None] = mapped_column(Json(list, bool))
    place: Mapped[Position | None] = mapped_column(GeoPoint)


OPTIONAL = {"allow_none": True, "load_default": None}


class SampleSchema(Schema):
    """A property of every type."""

    id = fields.Integer(dump_only=True)
    text = Text(100, **OPTIONAL)
    count = Int32(**OPTIONAL)
    ratio = Number(**OPTIONAL)
    flag = Boolean(**OPTIONAL)
    at = Timestamp(**OPTIONAL)
    dueOn = Date(attribute="due_on", **OPTIONAL)  # noqa: N815
    price = Decimal(8, 2, **OPTIONAL)
    code = UuidField(**OPTIONAL)
    status = Enumeration("open", "closed", **OPTIONAL)
    color = Enumeration("red", "green", **OPTIONAL)
    address = Object(**OPTIONAL)
    tags = Array(str, **OPTIONAL)
    parts = Array(dict, **OPTIONAL)
    relatedIds = Array(float, attribute="related_ids", **OPTIONAL)  # noqa: N815
    flags = Array(bool, **OPTIONAL)
    place = GeoPointField(**OPTIONAL)


def make_resource() -> Resource:
    return Resource(
        name="samples",
        singular="sample",
        model=Sample,
        schema=SampleSchema,
        rules=lambda settings: [allow(EVERYONE)],
    )


CODES = [f"018c5a3e-7d2b-4c1a-9f00-{number:012x}" for number in (1, 10, 255)]
BERLIN, PARIS, FIJI = (
    {"lat": 52.52, "lng": 13.405},
    {"lat": 48.8566, "lng": 2.3522},
    {"lat": -17.7, "lng": 178.06},
)
# As clients write and read them.
ROWS = [
    {
        "text": "Müller & Söhne",
        "count": 5,
        "ratio": 0.5,
        "flag": True,
        "at": "2026-01-02T03:04:05.678Z",
        "dueOn": "2026-03-01",
        "price": "12.50",
        "code": CODES[0],
        "status": "open",
        "color": "red",
        "address": {"city": "Berlin", "zip": 10115, "geo": {"main": True}, "x": None},
        "tags": ["a", "b", "é"],
        "parts": [{"n": 1}],
        "relatedIds": [3, 1.5],
        "flags": [True, False],
        "place": BERLIN,
    },
    {
        "text": "anna.9",
        "count": -7,
        "ratio": -2.25,
        "flag": False,
        "at": "2025-12-31T23:59:59.000Z",
        "dueOn": "2025-12-31",
        "price": "-0.01",
        "code": CODES[2],
        "status": "closed",
        "color": "green",
        "address": {"city": "berlin", "zip": 20095.5, "geo": {"main": False}},
        "tags": [],
        "parts": [],
        "relatedIds": [],
        "flags": [False],
        "place": PARIS,
    },
    {
        "text": "line\nbreak".replace("\n", " "),
        "count": 2**31 - 1,
        "ratio": 1e300,
        "flag": True,
        "at": "2026-01-02T03:04:05.679Z",
        "dueOn": "2026-02-28",
        "price": "999999.99",
        "code": CODES[1],
        "status": "open",
        "color": "green",
        "address": {"city": 7, "zip": "10115", "geo": "main"},
        "tags": ["b"],
        "parts": [{"n": "1"}, {}],
        "relatedIds": [3, 2**53 - 1],
        "flags": [],
        "place": FIJI,
    },
    {},
]
ROWS[-1] |= dict.fromkeys(ROWS[0])


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
