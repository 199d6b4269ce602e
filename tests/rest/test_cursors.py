"""Cursors: each page of a list begins after the last row of the one before it."""

import decimal
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marshmallow import fields
from sqlalchemy import REAL, Enum, Float, Index, Integer, String, Text, Uuid, delete, insert
from sqlalchemy import Date as DateColumn
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.access.rules import EVERYONE, allow
from app.database.columns import ExactDecimal, GeoPoint, Json, Position, UtcDateTime
from app.database.ids import RowId
from app.database.session import db
from app.fields.base import Boolean, Date, Decimal, Enumeration, Int32, Number, Schema, Timestamp
from app.fields.base import Text as TextField
from app.fields.base import Uuid as UuidField
from app.fields.json import GeoPointField, Object
from app.rest.resource import Resource
from tests.support.answers import refusal
from tests.support.databases import connected
from tests.support.rows import statements

pytestmark = pytest.mark.both_databases

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


class Base(DeclarativeBase):
    """The tests' own tables, apart from those that migrations know."""


class Entry(Base):
    __tablename__ = "entries"
    __table_args__ = (
        Index("ix_entries_rank_id", "rank", "id"),
        Index("ix_entries_rank_seen", "rank", "seen"),
        Index("ix_entries_ratio", "ratio"),
        Index("ix_entries_text", "text"),
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    rank: Mapped[int] = mapped_column(Integer)
    is_open: Mapped[bool]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    text: Mapped[str | None] = mapped_column(Text)
    ratio: Mapped[float | None] = mapped_column(Float)
    short: Mapped[float | None] = mapped_column(REAL)
    seen: Mapped[datetime | None] = mapped_column(UtcDateTime)
    day: Mapped[date | None] = mapped_column(DateColumn)
    price: Mapped[decimal.Decimal | None] = mapped_column(ExactDecimal(8, 2))
    code: Mapped[UUID | None] = mapped_column(Uuid)
    color: Mapped[str | None] = mapped_column(Enum("red", "green", native_enum=False))
    address: Mapped[dict | None] = mapped_column(Json(dict))
    secret: Mapped[int | None] = mapped_column(Integer)
    place: Mapped[Position | None] = mapped_column(GeoPoint)


class EntrySchema(Schema):
    """A row with a property of each type that has an order."""

    id = fields.Integer(dump_only=True)
    name = TextField(100)
    rank = Int32()
    isOpen = Boolean(attribute="is_open")  # noqa: N815
    at = Timestamp()
    text = TextField(10_000)
    ratio = Number()
    short = Number()
    seen = Timestamp()
    day = Date()
    price = Decimal(8, 2)
    code = UuidField()
    color = Enumeration("red", "green")
    address = Object()
    secret = Int32()
    place = GeoPointField()


def make_resource() -> Resource:
    return Resource(
        name="entries",
        singular="entry",
        model=Entry,
        schema=EntrySchema,
        rules=lambda settings: [allow(EVERYONE)],
        withheld=frozenset({"secret"}),
    )


TEXTS = ["", "a", "A", "ab", "aB", "Z", "z", "é", "É", "ü", "日本", "\U0001f600", "\\", "'", "a b"]
TIMES = [MOMENT, MOMENT + timedelta(microseconds=1), MOMENT + timedelta(days=1)]
# Few values, so that there are ties.
VALUES = {
    "name": st.sampled_from(TEXTS),
    "rank": st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]),
    "is_open": st.booleans(),
    "at": st.sampled_from(TIMES),
    "text": st.none() | st.sampled_from(TEXTS),
    "ratio": st.none() | st.sampled_from([0.1, 0.1 + 0.2, 0.3, -0.0, 0.0, 1e300, -1.5]),
    "seen": st.none() | st.sampled_from(TIMES),
    "day": st.none() | st.sampled_from([date(1, 1, 1), date(2026, 3, 1), date(9999, 12, 31)]),
    "price": st.none() | st.sampled_from(list(map(decimal.Decimal, ("-1.50", "0.10", "99.99")))),
    "code": st.none() | st.sampled_from([UUID(int=1), UUID(int=2**127), UUID(int=255)]),
    "color": st.none() | st.sampled_from(["red", "green"]),
}
NAMES = ["id", "isOpen", *(name for name in VALUES if name != "is_open")]
TERMS = st.builds("{} {}".format, st.sampled_from(NAMES), st.sampled_from(["ASC", "DESC"]))


@pytest.fixture
def entries(serve):
    """Serve entries; return a function that lists them."""
    app = serve(Base.metadata, make_resource())
    client = app.test_client()

    def find(filter_=None, path="", **query):
        texts = {"filter": json.dumps(filter_)} if filter_ is not None else {}
        return client.get(f"/api/entries{path}", query_string={**texts, **query})

    def store(rows):
        with app.app_context():
            db.session.execute(delete(Entry))
            db.session.execute(insert(Entry), rows)
            db.session.commit()

    def walk(filter_):
        """Return the pages and the filters of the links to them."""
        response, pages, filters = find(filter_), [], []
        while True:
            assert response.status_code == 200, response.json
            pages.append(response.json)
            assert len(pages) < 50
            if (linked := next_filter(response)) is None:
                return pages, filters
            filters.append(linked)
            response = find(linked)

    find.store, find.walk, find.client = store, walk, client
    return find


def row(number, **values):
    usual = {"name": "a", "rank": 1, "is_open": True, "at": MOMENT}
    nulls = {"short": None, **dict.fromkeys(set(VALUES) - set(usual))}
    return {"id": number, **nulls, **usual, **values}


def next_filter(response):
    """Return the filter of the link to the next page; None without one."""
    link = response.headers.get("Link")
    if link is None:
        return None
    path = link.removeprefix("<").removesuffix('>; rel="next"')
    return json.loads(parse_qs(urlsplit(path).query)["filter"][0])


def cursor_of(*parts):
    """Return a cursor with these parts."""
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def parts_of(cursor):
    return json.loads(urlsafe_b64decode(cursor + "=="))


@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), min_size=6, max_size=14),
    order=st.lists(TERMS, min_size=1, max_size=3),
    limit=st.integers(1, 4),
    shown=st.sampled_from([None, ["id"]]),
    rank=st.sampled_from([None, None, 0]),
)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_row_is_on_one_page_in_any_order(entries, rows, order, limit, shown, rank):
    entries.store([{"id": number, **each} for number, each in enumerate(rows, 1)])
    given_ = {"order": order, **({"fields": shown} if shown else {})}
    if rank is not None:
        given_["where"] = {"rank": rank}
        rows = [each for each in rows if each["rank"] == rank]

    whole = entries(given_).json
    pages, links = entries.walk({**given_, "limit": limit})

    assert [each for page in pages for each in page] == whole
    assert len(whole) == len(rows)
    assert all(0 < len(page) <= limit for page in pages) or pages == [[]]
    assert all("after" in linked and "skip" not in linked for linked in links)


INDEXED = [
    {"order": "rank"},
    {"order": "rank DESC"},
    {"order": "ratio"},
    {"order": "ratio DESC"},
    {"order": ["text DESC", "id DESC"]},
    {"order": "seen DESC", "where": {"rank": 1}},
    {"order": "seen", "where": {"rank": 1}},
]


@pytest.mark.parametrize("filter_", INDEXED, ids=json.dumps)
def test_rows_without_a_value_are_on_one_page_too(entries, filter_):
    values = {
        "ratio": [0.1, 0.3, 0.3],
        "text": ["a", "B", "b"],
        "seen": TIMES,
        "price": [decimal.Decimal("1.50")] * 3,
        "code": [UUID(int=7)] * 3,
        "day": [date(2026, 3, 1)] * 3,
    }
    rows = [row(number, address={"n": [number]}) for number in range(1, 12)]
    for place, each in enumerate(rows[3:]):
        each |= {name: some[place % 3] for name, some in values.items()}
    entries.store(rows)

    whole = entries(filter_).json
    pages, links = entries.walk({**filter_, "limit": 2})

    assert [each for page in pages for each in page] == whole
    assert (len(whole), len(links)) == (11, 5)
    assert {each["address"]["n"][0] for each in whole} == {*range(1, 12)}


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("filter_", INDEXED, ids=json.dumps)
def test_the_rows_after_a_cursor_are_found_by_the_index(entries, database_url, filter_):
    entries.store([row(number, ratio=number, text=str(number)) for number in range(1, 9)])
    linked = next_filter(entries({**filter_, "limit": 2}))
    with statements(entries.client.application) as sent:
        assert len(entries(linked).json) == 2

    with connected(database_url) as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sent[-1]}")
        plan = [each.detail for each in rows]

    assert any(each.startswith("SEARCH entries USING INDEX") for each in plan), plan
    assert not [each for each in plan if "OR" in each.split() or each.startswith("SCAN entries")]


def test_pages_follow_the_last_row_whatever_is_stored_and_deleted_meanwhile(entries):
    entries.store([row(number, rank=number) for number in range(10, 60, 10)])
    first = entries({"order": "rank", "limit": 2})

    entries.client.delete("/api/entries/20")
    entries.client.delete("/api/entries/10")
    with entries.client.application.app_context():
        db.session.execute(insert(Entry), [row(5, rank=5), row(25, rank=25)])
        db.session.commit()
    second = entries(next_filter(first))

    assert [[each["id"] for each in page.json] for page in (first, second)] == [[10, 20], [25, 30]]


def test_a_page_has_the_other_parts_of_the_filter(entries):
    entries.store([row(number, rank=number % 3, text="x" * number) for number in range(1, 20)])
    filter_ = {"where": {"rank": 1}, "order": "name", "limit": 2, "fields": ["id", "text"]}

    pages, links = entries.walk(filter_)

    assert [[each["id"] for each in page] for page in pages] == [[1, 4], [7, 10], [13, 16], [19]]
    assert {name for page in pages for each in page for name in each} == {"id", "text"}
    assert [{**linked, "after": ""} for linked in links] == [{**filter_, "after": ""}] * 3


def test_the_total_is_that_of_all_pages(entries):
    entries.store([row(number) for number in range(1, 8)])
    first = entries({"limit": 5}, count="true")
    last = entries(next_filter(first), count="true")

    assert (len(last.json), last.headers["X-Total-Count"]) == (2, "7")
    assert first.headers["X-Total-Count"] == "7"


def test_clients_that_skip_get_links_that_skip(entries):
    entries.store([row(number) for number in range(1, 8)])

    for beginning in ({"skip": 2}, {"offset": 2}):
        linked = next_filter(entries({**beginning, "limit": 2}))
        assert linked == {"limit": 2, "skip": 4}
    assert next_filter(entries({"skip": 0, "limit": 2})) == {"limit": 2, "skip": 2}
    assert "after" in next_filter(entries({"limit": 2}))


@pytest.mark.parametrize(
    "ordered",
    [{"order": "address.city"}, {"order": "short"}, {"where": {"place": {"near": "1,2"}}}],
)
def test_an_order_without_cursors_skips(entries, ordered):
    values = {"address": {"city": "a"}, "place": Position(lat=1, lng=2)}
    entries.store([row(number, **values) for number in range(1, 6)])
    filter_ = {**ordered, "limit": 2}

    pages, links = entries.walk(filter_)

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [linked["skip"] for linked in links] == [2, 4]
    cursor = next_filter(entries({"limit": 2}))["after"]
    refused = entries({**filter_, "after": cursor})
    assert refusal(refused) == (400, "INVALID_FILTER")
    assert refused.json["message"] == "after: lists in this order have no cursors; use skip."


def test_a_row_with_long_values_is_skipped_to(entries):
    long = ["x" * 9000, "y" * 9000]
    texts = ["a", "b", "c", *long, "z"]
    entries.store([row(number, text=text) for number, text in enumerate(texts, 1)])

    pages, links = entries.walk({"order": "text", "limit": 2})

    assert [[each["id"] for each in page] for page in pages] == [[1, 2], [3, 4], [5, 6]]
    assert [linked.get("skip") for linked in links] == [None, 4]


def test_find_one_begins_after_a_cursor(entries):
    entries.store([row(number) for number in range(1, 4)])
    cursor = next_filter(entries({"limit": 1}))["after"]

    assert entries({"after": cursor}, "/findOne").json["id"] == 2


def test_a_cursor_holds_what_the_list_is_ordered_by_and_nothing_hidden(entries):
    entries.store([row(number, name="n", secret=number) for number in range(1, 4)])

    plain = parts_of(next_filter(entries({"limit": 1}))["after"])
    ordered = parts_of(next_filter(entries({"order": "name DESC", "limit": 2}))["after"])

    assert plain[1:] == [1, True, 1]
    assert ordered[1:] == [2, True, "n", 2]
    assert refusal(entries({"order": "secret", "limit": 1})) == (400, "INVALID_FILTER")


def test_a_cursor_holds_no_value_that_receivers_may_change(entries, serve):
    entries.store([row(number) for number in range(1, 4)])
    resource = make_resource()

    @resource.loaded.connect
    def mask(_resource, event):
        event.values["name"] = "hidden"

    client = serve(Base.metadata, resource).test_client()

    def linked(**filter_):
        return next_filter(client.get("/api/entries", query_string={"filter": json.dumps(filter_)}))

    assert linked(order="name", limit=1) == {"order": "name", "limit": 1, "skip": 1}
    assert set(linked(limit=1)) == {"limit", "after"}


BAD = "after must be a cursor, as the Link header of a list has it."
OTHER = (
    "after is a cursor of another model or order: take it from the Link header of the same list."
)


@pytest.mark.parametrize(
    "after",
    [
        *("", "a", "ab", "====", "é", "a b", "0", 0, 1.5, True, [], {}, ["a"], "x" * 4001),
        *(cursor_of(), cursor_of(1, 2, True, 3), cursor_of("a"), cursor_of("a", 1, 2, 3)),
        *(cursor_of("a", number, True, 1) for number in (-1, True, 2**31, None)),
        cursor_of({"a": 1}),
        *(urlsafe_b64encode(text).decode().rstrip("=") for text in (b"\xff\xfe", b"[" * 2000)),
        urlsafe_b64encode(b'["a", 1, true, NaN]').decode().rstrip("="),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_cursor_is_400(entries, after):
    response = entries({"after": after})

    assert refusal(response) == (400, "INVALID_FILTER")
    assert response.json["message"] == BAD


def test_a_forged_value_is_400(entries):
    entries.store([row(number) for number in range(1, 4)])
    forged = {
        "id": [None, "x", 1.5, 2**63, [1], {}, True, "1' OR 1=1"],
        "name": [None, 1, "a\0", "\ud800", {}],
        "rank": [None, "x", 2**64],
        "isOpen": [None, 2, "yes"],
        "at": [None, 1, "x", "2026-01-02T03:04:05", "2026-01-02T03:04:05+01:00", "0001-01-01"],
        "ratio": ["x", True, [1]],
        "day": [1, "2026-02-30", "2026-01-02T00:00"],
        "price": ["x", "1.234", 10**41],
        "code": [1, "x"],
        "color": [1, "blue"],
    }
    for name, values in forged.items():
        linked = next_filter(entries({"order": name, "limit": 1}))
        digest, skipped, repeats, _, *others = parts_of(linked["after"])
        for value in values:
            bad = cursor_of(digest, skipped, repeats, value, *others)
            response = entries({**linked, "after": bad})
            assert refusal(response) == (400, "INVALID_FILTER"), (name, value)
            assert response.json["message"] == BAD


def test_values_beyond_those_of_a_column_are_compared(entries):
    entries.store([row(number) for number in range(1, 4)])
    linked = next_filter(entries({"order": "rank", "limit": 1}))
    head = parts_of(linked["after"])[:2]

    for repeats in (False, True):
        beyond = cursor_of(*head, repeats, 2**40, 2**62)
        assert entries({**linked, "after": beyond}).json == []


def test_a_cursor_of_another_order_model_or_length_is_400(entries, api, token):
    entries.store([row(number) for number in range(1, 4)])
    cursor = next_filter(entries({"order": "rank", "limit": 1}))["after"]
    digest, *values = parts_of(cursor)

    for order in ("rank DESC", "id", "name", ["rank", "name"], None):
        response = entries({"order": order, "after": cursor})
        assert refusal(response) == (400, "INVALID_FILTER")
        assert response.json["message"] == OTHER
    for changed in (cursor_of(digest, *values, 1), cursor_of("0" * 12, *values)):
        assert entries({"order": "rank", "after": changed}).json["message"] == OTHER
    todos = api("GET", "/todos", token=token, query_string={"filter": f'{{"after": "{cursor}"}}'})
    assert todos.json["message"] == OTHER
    # The id comes last anyway.
    assert entries({"order": ["rank", "id"], "after": cursor}).status_code == 200


def test_a_cursor_and_a_skip_are_400(entries):
    entries.store([row(number) for number in range(1, 4)])
    cursor = next_filter(entries({"limit": 1}))["after"]

    for name in ("skip", "offset"):
        response = entries({"after": cursor, name: 1})
        assert refusal(response) == (400, "INVALID_FILTER")
        assert "send one of them" in response.json["message"]
    assert len(entries({"after": cursor, "skip": 0}).json) == 2
    assert len(entries({"after": None, "skip": 1}).json) == 2
    assert len(entries(**{"filter[after]": cursor}).json) == 2
    header = {"filter": json.dumps({"after": cursor})}
    assert len(entries.client.get("/api/entries", headers=header).json) == 2


def test_counts_and_aggregates_have_no_cursor(entries):
    for path, query in (("/count", "where"), ("/aggregate", "filter")):
        response = entries.client.get(
            f"/api/entries{path}", query_string={query: '{"after": "abc"}'}
        )
        assert refusal(response) == (400, "INVALID_FILTER")
