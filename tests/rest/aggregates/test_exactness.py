"""Sums of the largest integers and decimals are exact, on both databases."""

import json
from decimal import Decimal, localcontext

import pytest
from marshmallow import fields
from sqlalchemy import BigInteger, insert
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import EVERYONE, allow
from app.database.columns import ExactDecimal
from app.database.ids import RowId
from app.database.session import db
from app.fields.base import Decimal as DecimalField
from app.fields.base import Schema
from app.rest.resource import Resource

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
PRECISE = Decimal("99999999999999.9999")


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Entry(Base):
    __tablename__ = "entries"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    amount: Mapped[int | None] = mapped_column(BigInteger)
    money: Mapped[Decimal | None] = mapped_column(ExactDecimal(18, 4))


class EntrySchema(Schema):
    id = fields.Integer(dump_only=True)
    amount = fields.Integer(allow_none=True)
    money = DecimalField(18, 4, allow_none=True)


entries = Resource("entries", "entry", Entry, EntrySchema, lambda settings: [allow(EVERYONE)])


@pytest.fixture
def compute(serve):
    """Return a function that stores amounts and money, and computes functions of them."""
    app = serve(Base.metadata, entries)
    client = app.test_client()

    def compute(rows, having=None, **functions):
        if rows:
            values = [{"amount": amount, "money": money} for amount, money in rows]
            with app.app_context(), db.engine.begin() as connection:
                connection.execute(insert(Entry), values)
        query = {"aggregate": functions} | ({"having": having} if having else {})
        response = client.get("/api/entries/aggregate", query_string={"filter": json.dumps(query)})
        assert response.status_code == 200, response.json
        return response.json

    return compute


@pytest.mark.both_databases
@pytest.mark.parametrize("amounts", [[LARGEST] * 5, [SMALLEST] * 5, [LARGEST, SMALLEST], [-1, 1]])
def test_sums_of_integers_of_64_bits_are_exact(compute, amounts):
    found = compute([(amount, None) for amount in amounts], total={"sum": "amount"})

    assert found == [{"total": sum(amounts)}]


@pytest.mark.both_databases
@pytest.mark.parametrize("money", [[PRECISE] * 7, [-PRECISE] * 7, [PRECISE, -PRECISE, Decimal(0)]])
def test_sums_and_averages_of_decimals_of_18_digits_are_exact(compute, money):
    found = compute(
        [(None, value) for value in money], total={"sum": "money"}, mean={"avg": "money"}
    )

    with localcontext(prec=60):
        mean = (sum(money) / len(money)).quantize(Decimal("0.00000001"))
    assert found == [{"total": f"{sum(money):f}", "mean": f"{mean:f}"}]


@pytest.mark.both_databases
def test_having_compares_large_sums_exactly(compute):
    rows, total = [(LARGEST, PRECISE)] * 4, 4 * LARGEST
    functions = {"total": {"sum": "amount"}, "money": {"sum": "money"}}
    money = f"{4 * PRECISE:f}"

    assert compute(rows, {"total": total, "money": money}, **functions) == [
        {"total": total, "money": money}
    ]
    assert compute([], {"total": {"gt": total}}, **functions) == []
    assert compute([], {"total": {"lt": total}}, **functions) == []
    assert len(compute([], {"total": {"gt": total - 1, "lt": str(total + 1)}}, **functions)) == 1
