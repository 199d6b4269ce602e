"""The first call that fails undoes all, and its error says which call it was."""

import pytest
from sqlalchemy import select

from app.audit.models import AuditRecord
from app.database.session import db

from .conftest import call

pytestmark = pytest.mark.both_databases
NEW = call("POST", "/orders", {"title": "Home"}, id="order")
# Hooks of lines: what is done after the commit, and errors.
HOOKS = """
from flask import current_app
from ostiary.audit import record
from ostiary.database import after_commit
from ostiary.errors import AccessDenied

def extend(lines):
    @lines.after_save.connect
    def note(resource, event):
        record("line-saved", sku=event.values["sku"])
        done = current_app.extensions.setdefault("done", [])
        after_commit(lambda: done.append(event.values["sku"]))
        if event.values["sku"] == "refused":
            raise AccessDenied("Not this one.")
        if event.values["sku"] == "broken":
            raise RuntimeError("a defect")
"""


def details(response):
    return response.status_code, response.json["error"]["code"], response.json["error"]["details"]


@pytest.mark.parametrize(
    ("failing", "status", "code"),
    [
        (call("POST", "/lines", {"sku": "x" * 31}), 422, "VALIDATION_ERROR"),
        (call("POST", "/lines", {"sku": "x", "orderId": 77}), 422, "VALIDATION_ERROR"),
        (call("GET", "/orders/77"), 404, "MODEL_NOT_FOUND"),
        (call("PATCH", "/orders/77", {"title": "x"}), 404, "MODEL_NOT_FOUND"),
        (call("PATCH", "/orders/{order.id}", {"title": "x"}, ifMatch='"x"'), 412, None),
        (call("POST", "/stock", {"sku": "lamp"}), 422, "VALIDATION_ERROR"),
        (call("GET", "/orders?filter={"), 400, "INVALID_FILTER"),
        (call("GET", "/users"), 403, "ACCESS_DENIED"),
    ],
)
def test_a_call_that_fails_undoes_those_before_it(shop, failing, status, code):
    shop("POST", "/stock", {"sku": "lamp"})

    response = shop.batch(NEW, {**failing, "id": "second"}, NEW | {"id": "third"})

    error = response.json["error"]
    assert (response.status_code, response.json["status"]) == (status, status)
    assert error["code"] == (code or "PRECONDITION_FAILED")
    assert error["details"] | {"request": 1, "id": "second"} == error["details"]
    assert (shop.count("orders"), shop.count("stock")) == (0, 1)


def test_the_error_is_that_of_the_call_alone_with_its_place(shop):
    alone = shop("POST", "/lines", {}).json

    response = shop.batch(NEW, call("POST", "/lines", {}))

    told = response.json
    place = {"request": 1, "id": None}
    alone["error"]["details"] |= place
    assert told == alone


def test_hooks_are_called_for_each_call_and_what_follows_a_commit_happens_after_it(make_shop):
    shop = make_shop({"line": HOOKS})
    first, second = (call("POST", "/lines", {"sku": sku}) for sku in ("lamp", "bulb"))

    refused = shop.batch(first, call("POST", "/lines", {"sku": "refused"}))
    undone = [*shop.app.extensions["done"]]
    saved = shop.batch(first, second)

    assert details(refused) == (403, "ACCESS_DENIED", {"request": 1, "id": None})
    assert undone == []
    assert saved.status_code == 200
    assert shop.app.extensions["done"] == ["lamp", "bulb"]
    assert shop.count("lines") == 2


def records(shop):
    """Return the actor and the request of each record about a line."""
    columns = AuditRecord.actor_id, AuditRecord.request_id
    with shop.app.app_context():
        found = db.session.execute(select(*columns).where(AuditRecord.action == "line-saved"))
        return [tuple(row) for row in found]


def test_records_of_the_audit_log_are_stored_with_the_batch_or_not_at_all(make_shop):
    shop = make_shop({"line": HOOKS})
    line = call("POST", "/lines", {"sku": "lamp"})

    shop.batch(line, call("POST", "/lines", {"sku": "refused"}))
    before = records(shop)
    shop.batch(line, line, headers={"X-Request-Id": "of-the-batch"})

    assert before == []
    assert records(shop) == [(1, "of-the-batch")] * 2


def test_a_defect_undoes_the_batch_and_tells_nothing(make_shop):
    shop = make_shop({"line": HOOKS}, TESTING=False, PROPAGATE_EXCEPTIONS=False)

    response = shop.batch(NEW, call("POST", "/lines", {"sku": "broken"}))

    assert response.status_code == 500
    assert "details" not in response.json["error"]
    assert (shop.count("orders"), shop.count("lines")) == (0, 0)


def test_after_a_failed_batch_the_next_request_works(shop):
    shop.batch(NEW, call("GET", "/orders/77"))

    assert shop.batch(NEW).status_code == 200
    assert shop.count("orders") == 1


ENDING = """
from ostiary.database import db
from ostiary.rules import WRITE


def extend(orders):
    @orders.endpoint("end", WRITE, "POST /end/<method>", answer={}, atomic=True)
    def end(method):
        orders.insert([{"title": "x"}])
        getattr(db.session, method)()
        return {}
"""


@pytest.mark.parametrize("method", ["commit", "rollback"])
def test_a_call_cannot_end_the_transaction_of_the_batch(make_shop, method):
    shop = make_shop(code={"order": ENDING})
    shop.app.config["PROPAGATE_EXCEPTIONS"] = False

    response = shop.batch(NEW, call("POST", f"/orders/end/{method}"), call("GET", "/orders/77"))

    assert response.status_code == 500
    assert shop.count("orders") == 0
