"""Events are delivered once, tried again, given up, obsolete, purged."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import create_engine

from app import outbox
from app.database import purging
from app.database.session import db, transaction
from app.outbox import claims, maintenance
from app.outbox import delivery as attempts
from app.outbox.delivery import drain, seconds_until_due
from app.outbox.models import Delivery, OutboxEvent
from app.outbox.service import worker
from app.times import now
from tests.support.documents import blocks
from tests.support.rows import count, statements
from tests.support.waiting import eventually

from .conftest import EVENT, make_past, rows

WORKERS, EVENTS = 4, 12


def states(app):
    return rows(app, Delivery.state, Delivery.attempts, Delivery.last_error)


@pytest.mark.both_databases
def test_workers_that_race_deliver_each_event_once(make_recorder):
    recorders = [make_recorder() for _ in range(WORKERS)]
    recorders[0].record(*range(EVENTS))
    barrier = threading.Barrier(WORKERS)

    def work(app):
        barrier.wait(timeout=60)
        # A worker that finds nothing to claim has lost one race, not all.
        while seconds_until_due(app) <= 0:
            drain(app)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, [each.app for each in recorders]))

    delivered = [number for each in recorders for number in each.delivered]
    assert sorted(delivered) == list(range(EVENTS))
    assert states(recorders[0].app) == [("delivered", 1, None)] * EVENTS


def test_an_app_that_stops_delivering_keeps_no_thread(recorder):
    before = set(threading.enumerate())
    recorder.record(1)
    drain(recorder.app)
    started = set(threading.enumerate()) - before

    outbox.stop(recorder.app)

    assert started
    for thread in started:
        # Less than the pause between two renewals of a lease.
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in started)


def test_an_event_of_a_transaction_that_rolls_back_is_not_recorded(recorder):
    def fail():
        with recorder.app.app_context(), transaction():
            outbox.record(EVENT, {"number": 1}, 60)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert count(recorder.app, OutboxEvent) == count(recorder.app, Delivery) == 0


def test_an_event_without_subscribers_is_not_recorded(recorder):
    with recorder.app.app_context(), statements(recorder.app) as sent:
        outbox.record("nobodyListens", {}, 60)

    assert sent == []


def test_a_claimed_delivery_is_no_others_until_its_lease_ends(recorder):
    app = recorder.app
    recorder.record(1)
    with app.app_context():
        ours = claims.claim_due()
        assert claims.claim_due() is None
    make_past(app, next_attempt=timedelta(seconds=1))

    with app.app_context():
        theirs = claims.claim_due()
        # Whoever lost the lease cannot end that of the other.
        claims.finish(ours, "failed", "too late")
        claims.postpone(ours, 0, "too late")

    assert (ours.attempts, theirs.attempts) == (1, 2)
    assert states(app) == [("pending", 2, None)]


def test_a_lease_is_renewed_while_a_handler_takes_long(recorder, make_recorder, monkeypatch):
    monkeypatch.setattr(claims, "LEASE", 6.0)
    app, other = recorder.app, make_recorder()
    recorder.record(1)
    begun, done = threading.Event(), threading.Event()

    def handler(app, info):
        begun.set()
        assert done.wait(60)
        return "noted"

    outbox.subscribe(app, EVENT, "recorder", handler)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(drain, app)
        assert begun.wait(60)
        first_end = rows(app, Delivery.next_attempt)[0][0]
        eventually(lambda: rows(app, Delivery.next_attempt)[0][0] > first_end)
        taken_over = drain(other.app)
        done.set()

        assert (working.result(), taken_over) == ({"delivered": 1}, {})
    assert states(app) == [("delivered", 1, None)]


def test_a_failed_attempt_is_repeated_after_a_pause_that_doubles(recorder, monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 3600.0)
    monkeypatch.setattr(claims, "MAX_BACKOFF", 9000.0)
    recorder.failures += [OSError("with a secret"), outbox.DeliveryError("busy"), OSError()]
    recorder.record(1, lifetime=86400)
    pauses, reasons = [], []
    for _ in range(3):
        drain(recorder.app)
        pauses.append(seconds_until_due(recorder.app))
        reasons.append(states(recorder.app)[0][2])
        make_past(recorder.app, next_attempt=timedelta(seconds=1))
    drain(recorder.app)

    assert pauses == [pytest.approx(pause, abs=60) for pause in (3600, 7200, 9000)]
    assert reasons == ["OSError", "busy", "OSError"]
    assert states(recorder.app) == [("delivered", 4, None)]
    assert recorder.delivered == [1]


@pytest.mark.parametrize("ahead", [timedelta(minutes=3), timedelta(days=3650)])
def test_deliveries_do_not_wait_for_the_time_before_the_clock_was_set_back(
    recorder, ahead, monkeypatch
):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 50.0)
    recorder.record(1, 2, lifetime=3600)
    make_past(recorder.app, next_attempt=-ahead)
    recorder.failures.append(OSError())
    # One waits for its next attempt as it should.
    recorder.record(3)
    with recorder.app.app_context():
        claims.postpone(claims.claim_due(), 30, "busy")

    outcomes = drain(recorder.app)

    assert outcomes == {"delayed": 1, "delivered": 1}
    # Both have been due for equally long: either is attempted first, and delayed.
    assert recorder.delivered in ([1], [2])
    assert 0 < seconds_until_due(recorder.app) < 60


@pytest.mark.parametrize(
    ("lifetime", "failure", "state", "reason"),
    [
        (60, outbox.UndeliverableError("x" * 500), "failed", "x" * 200),
        # There is no time for another attempt.
        (30, OSError("a secret"), "failed", "OSError"),
        (0, None, "expired", "its deadline has passed"),
    ],
)
def test_what_cannot_be_delivered_is_given_up(
    recorder, lifetime, failure, state, reason, monkeypatch
):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 60.0)
    recorder.failures += [failure] if failure else []
    recorder.record(1, lifetime=lifetime)

    assert drain(recorder.app) == {state: 1}
    assert states(recorder.app) == [(state, 1, reason)]
    assert recorder.delivered == []


def test_a_decoy_is_not_delivered(recorder):
    with recorder.app.test_request_context():
        outbox.record_decoy(EVENT, {"number": 1}, 60)
    outbox.stop(recorder.app)

    assert drain(recorder.app) == {}
    assert states(recorder.app) == [("obsolete", 0, None)]


def test_what_has_become_obsolete_is_not_delivered(recorder):
    recorder.record(1, obsolete=True)

    assert drain(recorder.app) == {"obsolete": 1}
    assert recorder.delivered == []


def test_an_event_that_this_version_does_not_know_waits_for_another(recorder, make_app):
    recorder.record(1)

    assert drain(make_app()) == {"delayed": 1}
    assert states(recorder.app) == [("pending", 1, "there is no such subscriber")]


def test_one_failing_subscriber_does_not_affect_the_other(recorder):
    others = []
    outbox.subscribe(recorder.app, EVENT, "other", lambda app, info: others.append(info) or "taken")
    recorder.failures.append(OSError())
    recorder.record(1)

    assert drain(recorder.app) == {"delayed": 1, "delivered": 1}
    assert (recorder.delivered, others) == ([], [{"number": 1}])


def test_a_worker_with_nothing_to_do_only_reads(recorder, database_url):
    recorder.record(1, 2)
    drain(recorder.app)
    recorder.record(3, lifetime=3600)
    make_past(recorder.app, next_attempt=timedelta(seconds=-60))
    engine = create_engine(database_url)

    # Another process writes all the time.
    with engine.connect() as writer, statements(recorder.app) as sent:
        if database_url.startswith("sqlite"):
            writer.exec_driver_sql("BEGIN IMMEDIATE")
        pause = worker.of(recorder.app)._work()
        writer.rollback()
    engine.dispose()

    assert pause == 10
    assert {statement.split()[0] for statement in sent} == {"SELECT"}
    assert len(sent) == 1


def test_a_worker_does_not_end_with_an_error(recorder, monkeypatch, caplog):
    failures = [RuntimeError("with a secret")]
    monkeypatch.setattr(
        claims, "next_attempt", lambda: raise_(failures.pop()) if failures else now()
    )
    monkeypatch.setattr(worker.of(recorder.app), "_poll_interval", 0.01)
    recorder.record(1)

    outbox.start(recorder.app)
    eventually(lambda: recorder.delivered)
    outbox.stop(recorder.app)

    assert "the outbox failed: RuntimeError" in caplog.text
    assert "with a secret" not in caplog.text


def test_a_process_that_does_not_deliver_has_no_thread(make_recorder):
    quiet = make_recorder(OUTBOX_IN_PROCESS=False)
    quiet.record(1)

    outbox.start(quiet.app)

    assert "outbox" not in {thread.name for thread in threading.enumerate()}
    assert drain(quiet.app) == {"delivered": 1}


def test_a_command_leaves_to_the_service_what_it_records(recorder):
    recorder.record(1)

    assert "outbox" not in {thread.name for thread in threading.enumerate()}
    assert seconds_until_due(recorder.app) <= 0


def test_what_a_process_has_reserved_is_free_after_its_stop(recorder, make_recorder, monkeypatch):
    monkeypatch.setattr("app.outbox.service.DELIVERY_DELAY", 3600.0)
    with recorder.app.test_request_context():
        outbox.record(EVENT, {"number": 1}, 60, secret="kept in memory")
    other = make_recorder()
    before = drain(other.app)

    outbox.stop(recorder.app)

    assert (before, drain(other.app)) == ({}, {"delivered": 1})
    assert [each.secret for each in other.attempts] == [None]


def test_the_first_attempt_of_the_same_process_has_the_secret(recorder):
    recorder.failures.append(OSError())
    with recorder.app.test_request_context():
        outbox.record(EVENT, {"number": 1}, 60, secret="kept in memory")
    eventually(lambda: recorder.attempts and states(recorder.app)[0][2])
    outbox.stop(recorder.app)
    make_past(recorder.app, next_attempt=timedelta(seconds=1))
    drain(recorder.app)

    assert [each.secret for each in recorder.attempts] == ["kept in memory", None]
    assert "kept in memory" not in repr(recorder.attempts)


def test_more_than_a_process_can_remember_is_left_to_all(recorder, make_recorder, monkeypatch):
    monkeypatch.setattr("app.outbox.service.DELIVERY_DELAY", 3600.0)
    monkeypatch.setattr("app.outbox.service.MAX_RESERVED", 2)
    with recorder.app.test_request_context():
        for number in range(4):
            outbox.record(EVENT, {"number": number}, 60, secret="kept in memory")
    other = make_recorder()
    drain(other.app)

    # This process delivers them too, but like any other.
    delivered = eventually(lambda: (both := recorder.delivered + other.delivered)[1:] and both)
    assert sorted(delivered) == [2, 3]
    assert {each.secret for each in recorder.attempts + other.attempts} == {None}


def test_recipients_are_found_of_more_deliveries_than_one_statement_takes(recorder):
    recorder.record(1, email="ada@example.com")
    with recorder.app.app_context():
        found = maintenance.find_recipients(range(1, 70_001))

    assert found[0] == "ada@example.com"
    assert set(found[1:]) == {None}


def test_finished_events_are_purged_in_batches(recorder, monkeypatch):
    monkeypatch.setattr(purging, "PURGE_BATCH", 2)
    app = recorder.app
    recorder.record(*range(5))
    drain(app)
    make_past(app, created=timedelta(days=9), finished=timedelta(days=8))
    recorder.record(5)
    drain(app)
    recorder.record(6)
    with app.app_context():
        db.session.execute(OutboxEvent.__table__.update().values(created=now() - timedelta(days=9)))

    with app.app_context():
        assert maintenance.purge(timedelta(days=app.config["OUTBOX_DAYS"])) == 5

    # One that finished a moment ago, and one that is pending.
    assert rows(app, OutboxEvent.data, model=OutboxEvent) == [({"number": 5},), ({"number": 6},)]
    assert states(app) == [("delivered", 1, None), ("pending", 0, None)]


def test_the_documented_event_is_delivered(make_app, caplog):
    app, example = make_app(), {}
    exec(blocks("docs/mail.md", "python", "Own mails and own events")[1], example)
    example["init_app"](app)
    with app.app_context():
        example["star"](7)

    assert drain(app) == {"delivered": 1}
    assert "note 7 has a star" in caplog.text
    assert "chat told (noteStarred, attempts: 1)" in caplog.text


def raise_(error):
    raise error
