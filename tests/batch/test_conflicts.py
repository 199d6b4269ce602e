"""Batches that run at the same time, and statements that fail."""

import threading

import pytest

from app.database.session import db
from app.rest.collection import served_collections
from tests.support.races import at_once

from .conftest import call

# A hook of lines that fails as a statement of a transaction does that another one overtakes.
FAILING = """
from flask import current_app
from psycopg.errors import SerializationFailure
from sqlalchemy.exc import OperationalError


def extend(lines):
    @lines.after_save.connect
    def fail(resource, event):
        left = current_app.extensions["failures"]
        if left[0]:
            left[0] -= 1
            raise OperationalError(None, None, SerializationFailure("again"))
"""


def change(rows, left):
    return [call("PATCH", f"/stock/{row}", {"left": left}) for row in rows]


@pytest.fixture
def stock(shop):
    """The ids of two rows."""
    return [shop("POST", "/stock", {"sku": sku, "left": 0}).json["id"] for sku in ("a", "b")]


def meet_after_the_first_change(app, number):
    """Let so many batches wait for each other when each has changed its first row."""
    barrier, counted, met = threading.Barrier(number), threading.local(), []

    def wait(_resource, event):
        if not getattr(counted, "met", False):
            counted.met = True
            barrier.wait(timeout=60)
            met.append(True)

    served_collections.of(app)["stock"].resource.after_save.connect(wait)
    return met


@pytest.mark.only_on("postgresql")
def test_batches_that_wait_for_each_other_are_run_again_and_both_succeed(shop, stock):
    met = meet_after_the_first_change(shop.app, 2)
    headers = {"Authorization": shop.token}

    def send(rows, left):
        body = {"requests": change(rows, left)}
        return lambda client: client.post("/api/batch", json=body, headers=headers)

    answers = at_once(shop.app, send(stock, 1), send(stock[::-1], 2))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(met) == 2
    left = {shop("GET", f"/stock/{row}").json["left"] for row in stock}
    assert left in ({1}, {2})


@pytest.mark.parametrize(("failures", "status", "rows"), [(2, 200, 1), (3, 503, 0)])
def test_a_batch_is_run_at_most_three_times(make_shop, failures, status, rows):
    shop = make_shop({"line": FAILING}, TESTING=False)
    shop.app.extensions["failures"] = [failures]

    response = shop.batch(
        call("POST", "/orders", {"title": "Home"}, id="order"),
        call("POST", "/orders/{order.id}/lines", {"sku": "lamp"}),
    )

    assert response.status_code == status
    assert shop.app.extensions["failures"] == [0]
    assert (shop.count("orders"), shop.count("lines")) == (rows, rows)


@pytest.mark.both_databases
def test_batches_at_the_same_time_all_succeed(shop, stock):
    headers = {"Authorization": shop.token}

    def send(client):
        reads, writes = [call("GET", f"/stock/{row}") for row in stock], change(stock, 5)
        body = {"requests": [*reads, *writes]}
        return client.post("/api/batch", json=body, headers=headers)

    answers = at_once(shop.app, *[send] * 4)

    assert [answer.status_code for answer in answers] == [200] * 4


@pytest.mark.only_on("sqlite")
def test_calls_that_read_do_not_wait_for_a_writer(shop, stock):
    with shop.app.app_context(), db.engine.connect() as writer:
        writer.exec_driver_sql("BEGIN IMMEDIATE")
        response = shop.batch(*(call("GET", f"/stock/{row}") for row in stock))
        writer.exec_driver_sql("ROLLBACK")

    assert response.status_code == 200


@pytest.mark.only_on("sqlite")
def test_a_batch_that_the_rules_refuse_does_not_wait_for_a_writer(shop):
    with shop.app.app_context(), db.engine.connect() as writer:
        writer.exec_driver_sql("BEGIN IMMEDIATE")
        response = shop.batch(
            call("GET", "/stock"), call("POST", "/stock", {"sku": "c"}), token=None
        )
        writer.exec_driver_sql("ROLLBACK")

    assert response.status_code == 401
    assert response.json["error"]["details"] == {"request": 1, "id": None}
