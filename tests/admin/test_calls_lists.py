"""The audit log of all, the outbox and the throttles, by calls of admins."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from app.audit.models import AuditRecord
from app.database.session import db
from app.outbox.models import Delivery, OutboxEvent
from app.throttles import Throttle
from app.times import now
from tests.conftest import Api
from tests.support.answers import refusal
from tests.support.rows import make_admin
from tests.support.throttles import log_in

from .conftest import As

LIMIT = 3


def query(**filter_):
    return {"filter": json.dumps(filter_)}


def store(app, model, *rows):
    with app.app_context():
        db.session.execute(insert(model), list(rows))
        db.session.commit()


@pytest.fixture
def mails(app):
    """Three deliveries: one failed, one pending, one delivered."""
    moment = now()
    event = {"event": "emailChanged", "lifetime": 600.0, "created": moment}
    event["data"] = {"old_email": "ada@example.com", "email": "new@example.com"}
    event |= {"deadline": moment + timedelta(seconds=600), "request_id": "r"}
    store(app, OutboxEvent, *({"id": number, **event} for number in (1, 2, 3)))
    states = ("failed", "pending", "delivered")
    store(
        app,
        Delivery,
        *(
            {
                "id": number,
                "event_id": number,
                "subscriber": "mail",
                "state": state,
                "attempts": 2,
                # Far enough that no worker attempts it.
                "next_attempt": moment + timedelta(seconds=50),
                "last_error": "refused" if state == "failed" else None,
            }
            for number, state in enumerate(states, 1)
        ),
    )


def state_of(app, delivery_id):
    with app.app_context():
        columns = Delivery.state, Delivery.last_error
        return tuple(db.session.execute(select(*columns).where(Delivery.id == delivery_id)).one())


def actions(app):
    with app.app_context():
        columns = AuditRecord.action, AuditRecord.actor_id, AuditRecord.details
        return [tuple(row) for row in db.session.execute(select(*columns).order_by(AuditRecord.id))]


@pytest.mark.both_databases
def test_the_audit_log_of_all_is_filtered_by_any_property_in_pages(app, admin, user):
    user("POST", "/users/logout")
    admin("PUT", "/admin/users/2/roles/clerk")
    admin("POST", "/users/2/disable")

    def found(**filter_):
        records = admin.get("/admin/audit", query_string=query(**filter_))
        return [each["action"] for each in records]

    assert found() == ["user-disabled", "role-granted", "logout"]
    assert found(where={"action": "role-granted"}) == ["role-granted"]
    assert found(where={"actorId": 2}) == ["logout"]
    assert found(where={"userId": 2, "actorId": 1}) == ["user-disabled", "role-granted"]
    assert found(where={"time": {"gt": "2100-01-01T00:00:00Z"}}) == []
    assert found(order="id", limit=1) == ["logout"]
    page = admin("GET", "/admin/audit", query_string=query(limit=1))
    counted = admin("GET", "/admin/audit", query_string={**query(limit=1), "count": "true"})
    assert 'rel="next"' in page.headers["Link"]
    assert counted.headers["X-Total-Count"] == "3"
    [record] = counted.json
    own = ("action", "actorId", "userId", "address", "details")
    assert [record[name] for name in own] == ["user-disabled", 1, 2, "127.0.0.1", {}]


@pytest.mark.both_databases
def test_the_outbox_is_listed_and_filtered(admin, mails):
    listed = admin.get("/admin/outbox")
    failed = admin.get("/admin/outbox", query_string=query(where={"state": "failed"}))
    by_event = query(where={"event": "emailChanged", "requestId": "r"}, limit=1)
    page = admin("GET", "/admin/outbox", query_string={**by_event, "count": "true"})

    assert [each["id"] for each in listed] == [3, 2, 1]
    assert {name: value for name, value in failed[0].items() if name not in TIMES} == {
        "id": 1,
        "event": "emailChanged",
        "subscriber": "mail",
        "recipient": "ada@example.com",
        "state": "failed",
        "attempts": 2,
        "requestId": "r",
        "lastError": "refused",
    }
    assert page.headers["X-Total-Count"] == "3"
    assert refusal(admin("GET", "/admin/outbox", query_string=query(where={"data": 1}))) == (
        400,
        "INVALID_FILTER",
    )


TIMES = ("created", "deadline")


@pytest.mark.both_databases
def test_a_failed_delivery_is_retried_and_a_pending_one_given_up(app, admin, mails):
    assert admin("POST", "/admin/outbox/1/retry").status_code == 204
    assert admin("POST", "/admin/outbox/2/giveUp").status_code == 204

    assert state_of(app, 2) == ("failed", "given up by an operator")
    assert admin("POST", "/admin/outbox/2/retry").status_code == 204
    assert actions(app) == [
        ("delivery-retried", 1, {"delivery": 1}),
        ("delivery-given-up", 1, {"delivery": 2}),
        ("delivery-retried", 1, {"delivery": 2}),
    ]


def test_a_delivery_in_another_state_is_not(app, admin, mails):
    for path in ("3/retry", "3/giveUp", "2/retry", "1/giveUp"):
        answer = admin("POST", f"/admin/outbox/{path}")
        assert refusal(answer) == (409, "CONFLICT")
        assert "The delivery is" in answer.json["message"]
    for delivery in ("99", "x", "-1", "9" * 30):
        answer = admin("POST", f"/admin/outbox/{delivery}/retry")
        assert refusal(answer) == (404, "MODEL_NOT_FOUND")
    assert actions(app) == []


@pytest.fixture
def locked(shared_app, secrets):
    """What calls as an admin, where somebody has guessed too often; and what tries to log in."""
    rate = {"limit": LIMIT, "seconds": 600, "lock": 60, "max_lock": 900}
    app = shared_app(THROTTLE_ENABLED=True, THROTTLES={"login_identity": rate})
    api = Api(app.test_client(), secrets)
    admin = As(api, api.logged_in("ada@example.com"))
    make_admin(app)
    for _ in range(LIMIT):
        log_in(api)
    return admin


@pytest.mark.both_databases
def test_what_is_locked_is_listed_and_released(locked):
    [lock] = locked.get("/admin/throttles")

    assert (lock["throttle"], lock["used"], lock["limit"]) == ("login_identity", LIMIT, LIMIT)
    assert len(lock["key"]) == 64
    assert locked.get("/admin/state")["locks"] == 1
    assert log_in(locked.api).status_code == 429
    path = f"/admin/throttles/login_identity/{lock['key']}"
    assert locked("DELETE", path).status_code == 204
    assert locked.get("/admin/throttles") == []
    assert log_in(locked.api).status_code == 401
    assert refusal(locked("DELETE", f"{path}0")) == (404, "MODEL_NOT_FOUND")
    released = actions(locked.api.client.application)[-2:]
    assert ("throttle-released", 1, {"throttle": "login_identity", "key": lock["key"]}) in released


@pytest.mark.both_databases
def test_what_was_locked_and_what_is_below_its_limit_is_not_listed(locked):
    app = locked.api.client.application
    with app.app_context():
        for values in ({"blocked_until": now() - timedelta(seconds=1)}, {"count": LIMIT - 1}):
            db.session.execute(update(Throttle).values(values))
            db.session.commit()
            assert locked.get("/admin/throttles") == []
            db.session.execute(
                update(Throttle).values(count=LIMIT, blocked_until=now() + timedelta(seconds=9))
            )
            db.session.commit()
            assert "login_identity" in {each["throttle"] for each in locked.get("/admin/throttles")}
