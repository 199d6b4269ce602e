"""Sales: rows of two users, with properties of all types that aggregates have functions for."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from uuid import UUID

from marshmallow import fields
from sqlalchemy import BigInteger, Enum, Float, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.roles import ADMIN
from app.access.rules import OWNER, READ, allow
from app.database.columns import ExactDecimal, UtcDateTime
from app.database.ids import RowId
from app.fields.base import Boolean, Date, Enumeration, Number, Schema, Text, Timestamp, Uuid
from app.fields.base import Decimal as DecimalField
from app.rest.resource import Resource


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Sale(Base):
    __tablename__ = "sales"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    owner_id: Mapped[int]
    shop: Mapped[str | None] = mapped_column(String(20))
    status: Mapped[str | None] = mapped_column(Enum("open", "paid", native_enum=False))
    price: Mapped[Decimal | None] = mapped_column(ExactDecimal(12, 3))
    pieces: Mapped[int | None] = mapped_column(BigInteger)
    weight: Mapped[float | None] = mapped_column(Float)
    flag: Mapped[bool | None]
    at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    day: Mapped[date | None]
    code: Mapped[UUID | None]


class SaleSchema(Schema):
    id = fields.Integer(dump_only=True)
    shop = Text(20)
    status = Enumeration("open", "paid")
    price = DecimalField(12, 3)
    pieces = fields.Integer()
    weight = Number()
    flag = Boolean()
    at = Timestamp()
    day = Date()
    code = Uuid()


# Users may read their own rows, and those with a flag.
sales = Resource(
    name="sales",
    singular="sale",
    model=Sale,
    schema=SaleSchema,
    rules=lambda settings: [allow(OWNER), allow("colleague", access=READ), allow(ADMIN)],
    owner=Sale.owner_id,
)
sales.roles["colleague"] = lambda user_id: Sale.flag


def make_row(random: Random) -> dict[str, object]:
    """Return random values of a sale by attribute."""
    at = datetime(2025, 12, 20, tzinfo=UTC) + timedelta(minutes=random.randrange(60_000))
    row = {
        "shop": random.choice(["", "a", "A", "é", "z%", "Z", "\U0001f600", "\ufffd"]),
        "status": random.choice(["open", "paid"]),
        "price": Decimal(random.randrange(-(10**6), 10**6)).scaleb(-3),
        "pieces": random.choice([1, -5, 2**62, -(2**62), 2**53 + 1]),
        # Exact in every order of addition.
        "weight": random.randrange(-64, 64) / 8,
        "flag": random.random() < 0.4,
        "at": at,
        "day": at.date(),
        "code": UUID(int=random.randrange(4)),
    }
    return {name: None if random.random() < 0.1 else value for name, value in row.items()} | {
        "owner_id": random.choice([1, 2])
    }
