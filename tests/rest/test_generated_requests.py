"""Generated requests to the shop: no 5xx, no difference between the databases, no row of others."""

from contextlib import ExitStack
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from sqlalchemy import func, select, text

from app.database.session import db, transaction
from app.users.models import User
from tests.conftest import PASSWORD
from tests.support.shop import JSON, Shops

from .generated import aggregates, reads, writes

# The same examples in every run.
GENERATED = settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
# When rows were created and changed.
TIMES = {"created", "changed"}
WRITTEN = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
BERLIN = {"lat": 52.52, "lng": 13.405}
# By whom they are created; the ids count up from 1 in each collection.
ROWS = [
    ("clerk", "/categories", {"name": "Light"}),
    ("clerk", "/categories", {"name": "Home"}),
    ("clerk", "/products", {"sku": "LAMP-1", "name": "Lamp", "price": "12.50", "tags": ["new"]}),
    ("clerk", "/products", {"sku": "LAMP-2", "name": "lamp", "price": 9, "size": {"h": 30}}),
    (
        *("clerk", "/products"),
        {"sku": "a_b%", "name": "é", "price": 0, "status": "draft", "releasedOn": "2026-03-01"},
    ),
    ("clerk", "/products/1/categories/rel/1", None),
    ("clerk", "/products/1/categories/rel/2", None),
    ("clerk", "/products/2/categories/rel/2", None),
    ("ada", "/orders", {}),
    ("ada", "/orders", {"status": "paid"}),
    ("bob", "/orders", {}),
    ("ada", "/orders/1/items", {"productId": 1, "quantity": 2}),
    ("ada", "/orders/1/items", {"productId": 2}),
    ("bob", "/orders/3/items", {"productId": 1}),
    ("ada", "/orders/1/shipment", {"address": {"city": "Berlin", "zip": 10115}, "place": BERLIN}),
    ("bob", "/orders/3/shipment", {"address": {"city": "berlin"}, "dueOn": "2026-03-01"}),
    ("ada", "/reviews", {"productId": 1, "stars": 5}),
    ("bob", "/reviews", {"productId": 1, "stars": 1, "text": "a\nb"}),
]
USERS = {"ada": 1, "bob": 2, "clerk": 3}


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    with Shops(JSON, tmp_path_factory.mktemp("shop")) as shops:
        yield shops


class Caller:
    """A shop on one database with the rows above, and the tokens of its users."""

    def __init__(self, shop):
        self.app, self.tables, self.client = shop.app, shop.tables, shop.app.test_client()
        self.tokens = {None: None} | {name: self._login(name) for name in USERS}
        self.app.test_cli_runner().invoke(args=["roles", "grant", "clerk@example.com", "clerk"])
        for caller, path, body in ROWS:
            verb = "PUT" if "/rel/" in path else "POST"
            response = self.call(caller, verb, path, body=body)
            assert response.status_code in (200, 204), response.json
        with self.app.app_context():
            for table in (User.__table__, *self.tables):
                times = TIMES & set(table.columns.keys())
                if times:
                    db.session.execute(table.update().values(dict.fromkeys(times, WRITTEN)))
        self.stored = self.dump()

    def _login(self, name):
        user = {"email": f"{name}@example.com", "password": PASSWORD}
        self.client.post("/api/users", json=user)
        return self.client.post("/api/users/login", json=user).json["id"]

    def call(self, caller, verb, path, query=None, body=None):
        headers = {"Authorization": self.tokens[caller]} if caller else {}
        return self.client.open(
            f"/api{path}", method=verb, query_string=query, json=body, headers=headers
        )

    def dump(self):
        """Return the rows of each table."""
        with self.app.app_context(), transaction():
            return {
                table.name: sorted(map(dict, rows), key=str)
                for table in self.tables
                for rows in [db.session.execute(table.select()).mappings()]
            }

    def restore(self):
        """Undo what was written; the next ids are those of the beginning."""
        with self.app.app_context(), transaction():
            for table in reversed(self.tables):
                db.session.execute(table.delete())
            if db.engine.dialect.name == "sqlite":
                db.session.execute(text("DELETE FROM sqlite_sequence"))
            for table in self.tables:
                db.session.execute(table.insert(), self.stored[table.name])
                if db.engine.dialect.name == "postgresql" and "id" in table.columns:
                    sequence = func.pg_get_serial_sequence(table.name, "id")
                    most = select(func.max(table.c.id)).scalar_subquery()
                    db.session.execute(select(func.setval(sequence, most)))


@pytest.fixture
def both(shops, sqlite_url, postgres_url):
    """The same shop on both databases."""
    with ExitStack() as stack:
        urls = (sqlite_url, postgres_url)
        yield [Caller(stack.enter_context(shops.get(url))) for url in urls]


def objects(name, value):
    """Yield all objects in a JSON value of this name, but reviews, which everybody reads."""
    if isinstance(value, list):
        for each in value:
            yield from objects(name, each)
    if isinstance(value, dict):
        if name != "reviews":
            yield value
        for inner, each in value.items():
            yield from objects(inner, each)


def without_times(value):
    """Return a JSON value without the times of its rows, which differ by milliseconds."""
    if isinstance(value, list):
        return list(map(without_times, value))
    if not isinstance(value, dict):
        return value
    return {name: without_times(inner) for name, inner in value.items() if name not in TIMES}


def check_same(both, caller, *request):
    """Send a request to both; check their answers, and that they are the same; return one."""
    ours, theirs = (shop.call(caller, *request) for shop in both)
    assert ours.status_code == theirs.status_code < 500, (ours.json, theirs.json)
    assert without_times(ours.json) == without_times(theirs.json)
    assert ours.headers.get("Link") == theirs.headers.get("Link")
    if caller != "clerk" and ours.status_code == 200:
        path = request[1].split("/")
        for each in objects("reviews" if "reviews" in path else path[1], ours.json):
            if "customerId" in each:
                assert each["customerId"] == USERS[caller]
            if "email" in each:
                assert each["id"] == USERS[caller]
    return ours


def test_generated_filters_select_the_same_rows_on_both_databases(both):
    @GENERATED
    @given(reads())
    def check(request):
        caller, path, query = request
        check_same(both, caller, "GET", path, query)

    check()


def test_generated_aggregates_are_the_same_on_both_databases(both):
    answered = []

    @settings(GENERATED, max_examples=200)
    @given(aggregates())
    def check(request):
        caller, path, query = request
        answered.append(check_same(both, caller, "GET", path, query).status_code)

    check()
    assert answered.count(200) > 20


def test_generated_bodies_write_the_same_rows_on_both_databases(both):
    @GENERATED
    @given(writes())
    def check(request):
        caller, *call = request
        response = check_same(both, caller, *call)
        if response.status_code < 300:
            ours, theirs = (shop.dump() for shop in both)
            if caller != "clerk":
                assert not_of(caller, ours) == not_of(caller, both[0].stored)
            assert without_times(ours) == without_times(theirs)
        # An insert that fails has used up an id on one of them.
        if response.status_code < 300 or response.status_code in (409, 422):
            for shop in both:
                shop.restore()

    check()
    assert both[0].dump() == both[0].stored


def not_of(caller, dump):
    """Return the rows of all owners but the caller."""
    rows = [row for table in dump.values() for row in table]
    return [row for row in rows if row.get("customer_id") != USERS[caller]]
