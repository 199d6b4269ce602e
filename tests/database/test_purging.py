"""Purging: expired rows of every kind are deleted by themselves, in batches, beside requests."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import func, insert, select

from app import jobs
from app.audit.models import AuditRecord
from app.database import purging
from app.database.purging import Purger, purger
from app.database.session import db
from app.idempotency.records import IdempotentCall
from app.oauth import flows
from app.oauth.models import LoginFlow
from app.outbox.models import Delivery, OutboxEvent
from app.throttles import Throttle
from app.times import now
from app.users.models import AccessToken
from tests.support.rows import statements

OLD, LATER = timedelta(days=-100), timedelta(days=1)
TABLES = (AccessToken, Throttle, LoginFlow, IdempotentCall, AuditRecord, OutboxEvent, Delivery)
EXPIRED, KEPT = 50, 3


@pytest.fixture
def app(shared_app):
    return shared_app(THROTTLE_ENABLED=True)


def fill(app, token):
    """Store EXPIRED rows of each kind and KEPT that are of use; the user's token is another."""
    moments = [now() + OLD] * EXPIRED + [now() + LATER] * KEPT
    login = {"user_id": 1, "ttl": 1, "created": now()}
    flow = {"browser_digest": "", "provider": "x", "verifier": "", "nonce": ""}
    rows = {
        AccessToken: [
            {**login, "digest": f"{number}", "handle": f"{number}", "expires_at": each}
            for number, each in enumerate(moments)
        ],
        Throttle: [
            {"name": "x", "digest": f"{number}", "count": 1, "expires_at": each}
            | {"started": each, "blocked_until": each}
            for number, each in enumerate(moments)
        ],
        LoginFlow: [
            {**flow, "state_digest": f"{number}", "expires_at": each}
            for number, each in enumerate(moments)
        ],
        IdempotentCall: [
            {"digest": f"{number}", "content": "", "claim": "", "expires_at": each}
            | {"started": each, "claimed_until": each}
            for number, each in enumerate(moments)
        ],
        AuditRecord: [{"action": "login", "time": each, "details": {}} for each in moments],
        OutboxEvent: [
            {"event": "x", "data": {}, "created": each, "deadline": each, "lifetime": 1}
            for each in moments
        ],
    }
    done = {"subscriber": "x", "state": "delivered", "attempts": 1, "next_attempt": now()}
    with app.app_context():
        for model, values in rows.items():
            db.session.execute(insert(model), values)
        events = db.session.execute(select(OutboxEvent.id, OutboxEvent.created)).all()
        deliveries = [{"event_id": id, "finished": time, **done} for id, time in events]
        db.session.execute(insert(Delivery), deliveries)
        db.session.commit()


def left(app):
    with app.app_context():
        return [db.session.scalar(select(func.count()).select_from(each)) for each in TABLES]


def make_purger(app):
    """Return a purger of every table, those of providers too."""
    every = Purger(app)
    every._batches = {**purger.of(app)._batches, "login_flows": flows.purge_batch}
    return every


# The user's own token stays too.
REST = [KEPT + 1] + [KEPT] * (len(TABLES) - 1)


@pytest.mark.both_databases
def test_expired_rows_of_every_kind_are_purged_in_batches(app, token, monkeypatch):
    monkeypatch.setattr(purging, "PURGE_BATCH", 20)
    fill(app, token)
    purger = make_purger(app)

    more = [purger.purge_some()]
    first = left(app)
    more += [purger.purge_some(), purger.purge_some()]

    assert more == [True, True, False]
    assert first == [count + EXPIRED - 20 for count in REST]
    assert left(app) == REST


@pytest.mark.both_databases
def test_processes_that_purge_at_once_delete_each_row_and_do_not_fail(app, token, monkeypatch):
    monkeypatch.setattr(purging, "PURGE_BATCH", 5)
    fill(app, token)
    barrier, caught = Barrier(3), []

    def purge():
        purger = make_purger(app)
        barrier.wait(30)
        try:
            while purger.purge_some():
                pass
        except Exception as error:
            caught.append(error)

    threads = [Thread(target=purge) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    # Those that found the last rows locked stopped before they were deleted.
    make_purger(app).purge_some()

    assert caught == []
    assert left(app) == REST


@pytest.mark.only_on("sqlite")
def test_a_job_of_the_service_purges_all_there_is(app, token, monkeypatch):
    monkeypatch.setattr(purging, "PURGE_BATCH", 20)
    monkeypatch.setattr(jobs, "PAUSE", 0)
    fill(app, token)
    monkeypatch.setattr(purger.of(app), "_batches", make_purger(app)._batches)

    result = app.test_cli_runner().invoke(args=["jobs", "run", "purge-expired"])

    assert result.output == "Ran purge-expired.\n"
    assert left(app) == REST


@pytest.mark.only_on("sqlite")
def test_a_table_that_cannot_be_purged_does_not_keep_others(app, token, caplog, monkeypatch):
    fill(app, token)

    def fail():
        db.session.connection().exec_driver_sql("SELECT nothing")

    batches = {"broken": fail, **make_purger(app)._batches}
    monkeypatch.setattr(purger.of(app), "_batches", batches)
    result = app.test_cli_runner().invoke(args=["jobs", "run", "purge-expired"])

    assert left(app) == REST
    assert "PurgeError: broken: OperationalError" in result.output
    assert "the job purge-expired failed" in caplog.text


@pytest.mark.only_on("sqlite")
def test_requests_do_not_purge_and_nothing_to_purge_takes_no_write_lock(app, api, token):
    fill(app, token)

    with statements(app) as sent:
        api("POST", "/users/login", {"email": "ada@example.com", "password": "wrong one"})
        make_purger(app).purge_some()
        after = len(sent)
        make_purger(app).purge_some()

    deletes = [each for each in sent if "DELETE" in each]
    assert len(deletes) == 6
    assert not any("DELETE" in each for each in sent[after:])
    assert left(app)[1] == KEPT + 2
