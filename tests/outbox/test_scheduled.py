"""Events for later, and those with a key, which are replaced and cancelled."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from threading import Barrier

import pytest

from app import outbox, times
from app.database.session import transaction
from app.outbox import claims, maintenance
from app.outbox.delivery import deliver, drain
from app.outbox.models import Delivery, OutboxEvent
from app.times import now
from tests.support.documents import blocks
from tests.support.rows import count

from .conftest import EVENT, make_past, rows

LATER = timedelta(hours=1)


def record(recorder, number, **options):
    with recorder.app.app_context():
        outbox.record(EVENT, {"number": number}, 60, **options)


def cancel(recorder, key):
    with recorder.app.app_context():
        return outbox.cancel(EVENT, key)


@pytest.mark.both_databases
def test_an_event_for_later_is_delivered_when_its_time_has_come(recorder):
    app = recorder.app
    record(recorder, 1, not_before=now() + LATER)
    early = drain(app)
    [(state, attempt)] = rows(app, Delivery.state, Delivery.next_attempt)
    [(deadline,)] = rows(app, OutboxEvent.deadline, model=OutboxEvent)
    make_past(app, next_attempt=timedelta(seconds=1))

    assert (early, state) == ({}, "scheduled")
    assert deadline - attempt == timedelta(seconds=60)
    assert drain(app) == {"delivered": 1}
    assert recorder.delivered == [1]


@pytest.mark.both_databases
def test_an_event_for_a_time_that_has_passed_is_delivered_at_once(recorder):
    record(recorder, 1, not_before=now() - LATER)

    assert drain(recorder.app) == {"delivered": 1}


@pytest.mark.both_databases
@pytest.mark.parametrize("hours", [0, 5, -5])
def test_a_time_at_the_end_of_the_calendar_is_one_far_away(recorder, hours):
    zone = timezone(timedelta(hours=hours))
    record(recorder, 1, not_before=datetime.max.replace(tzinfo=zone), key="a")

    assert drain(recorder.app) == {}
    assert cancel(recorder, "a")
    record(recorder, 2, not_before=datetime.min.replace(tzinfo=zone))
    assert drain(recorder.app) == {"delivered": 1}


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("hours", [2, -2])
def test_it_is_the_clock_of_the_database_that_counts(recorder, monkeypatch, hours):
    app = recorder.app
    record(recorder, 1, not_before=now() + LATER)
    other = int((now() + timedelta(hours=hours)).timestamp() * 1e9)
    monkeypatch.setattr(times, "time_ns", lambda: other)
    early = drain(app)
    monkeypatch.undo()
    make_past(app, next_attempt=timedelta(seconds=1))
    monkeypatch.setattr(times, "time_ns", lambda: other)
    with app.app_context():
        claim = claims.claim_due()
    monkeypatch.undo()

    assert early == {}
    assert deliver(app, claim) == "delivered"


@pytest.mark.both_databases
def test_an_event_for_later_is_not_purged_and_can_be_given_up_and_retried(recorder):
    app = recorder.app
    record(recorder, 1, not_before=now() + 1000 * LATER)
    make_past(app, created=timedelta(days=30))

    with app.app_context():
        purged = maintenance.purge(timedelta(days=7))
        [delivery] = rows(app, Delivery.id)
        maintenance.give_up(*delivery)
        maintenance.retry_one(*delivery)

    assert purged == 0
    assert drain(app) == {"delivered": 1}


@pytest.mark.both_databases
def test_a_key_replaces_the_event_that_has_it(recorder):
    app = recorder.app
    record(recorder, 1, not_before=now() + LATER, key="a")
    record(recorder, 2, not_before=now() + LATER, key="b")
    record(recorder, 3, key="a")
    first = drain(app)
    record(recorder, 4, key="a")

    assert first == {"delivered": 1}
    assert drain(app) == {"delivered": 1}
    assert recorder.delivered == [3, 4]
    assert count(app, OutboxEvent) == count(app, Delivery) == 2


@pytest.mark.both_databases
def test_events_with_one_key_that_are_recorded_at_once_are_one(recorder):
    barrier = Barrier(4)

    def record_it(number):
        barrier.wait(60)
        record(recorder, number, not_before=now() + LATER, key="a")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record_it, range(4)))

    assert count(recorder.app, OutboxEvent) == count(recorder.app, Delivery) == 1


@pytest.mark.both_databases
def test_an_event_is_cancelled_by_its_key(recorder):
    app = recorder.app
    record(recorder, 1, not_before=now() + LATER, key="a")
    record(recorder, 2, key="b")
    record(recorder, 3)
    answers = [cancel(recorder, key) for key in ("a", "a", "b", "gone")]

    assert answers == [True, False, True, False]
    assert drain(app) == {"delivered": 1}
    assert recorder.delivered == [3]
    assert count(app, OutboxEvent) == 1


@pytest.mark.both_databases
def test_what_was_delivered_is_not_cancelled(recorder):
    record(recorder, 1, key="a")
    drain(recorder.app)

    assert not cancel(recorder, "a")
    assert count(recorder.app, OutboxEvent) == count(recorder.app, Delivery) == 1


@pytest.mark.both_databases
def test_records_and_cancellations_take_part_in_the_transaction(recorder):
    app = recorder.app
    record(recorder, 1, not_before=now() + LATER, key="a")
    with app.app_context(), pytest.raises(LookupError):
        change_all_and_fail()

    assert rows(app, OutboxEvent.key, model=OutboxEvent) == [("a",)]
    assert rows(app, Delivery.state) == [("scheduled",)]


@transaction()
def change_all_and_fail():
    outbox.record(EVENT, {"number": 2}, 60, key="a")
    outbox.record(EVENT, {"number": 3}, 60, not_before=now() + LATER, key="b")
    assert outbox.cancel(EVENT, "a")
    raise LookupError


def test_the_documented_reminder_is_prolonged_and_cancelled(make_app, caplog):
    app, example = make_app(), {}
    exec(blocks("docs/mail.md", "python", "Events for later")[0], example)
    example["init_app"](app)
    with app.app_context():
        example["lend"](7, 1, now() + LATER)
        example["lend"](7, 2, now() + 2 * LATER)
        waiting = count(app, Delivery)
        returned = [example["give_back"](7), example["give_back"](7)]
        example["lend"](8, 3, now() - LATER)

    assert (waiting, returned) == (1, [True, False])
    assert drain(app) == {"delivered": 1}
    assert "book 3 is due" in caplog.text


def test_an_attempt_of_an_event_that_was_cancelled_meanwhile_changes_nothing(recorder, caplog):
    app = recorder.app
    record(recorder, 1, key="a")
    with app.app_context():
        claim = claims.claim_due()
    cancel(recorder, "a")

    assert deliver(app, claim) == "failed"
    assert "recorder given up: it was cancelled" in caplog.text
    assert (recorder.delivered, count(app, Delivery)) == ([], 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"not_before": datetime(2027, 1, 1)}, "not_before has no time zone"),
        ({"not_before": now() + LATER, "secret": "x"}, "a secret is not kept until not_before"),
        ({"key": "k" * 256}, "the key of an event has at most 255 characters"),
    ],
)
def test_what_cannot_be_recorded_is_an_error(recorder, options, said):
    with pytest.raises(ValueError, match=said):
        record(recorder, 1, **options)

    assert count(recorder.app, OutboxEvent) == 0
