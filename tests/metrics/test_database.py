"""Gauges that a scrape reads from the database, also without one."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text, update

from app.database.session import db
from app.mail import send
from app.metrics import counting
from app.metrics.counting import BackgroundCollector
from app.outbox.delivery import drain
from app.outbox.maintenance import PENDING_DELIVERIES
from app.outbox.models import OutboxEvent
from app.times import now
from tests.support.databases import connected
from tests.support.waiting import eventually, is_recent

DOWN = {"ostiary_database_up": 0}


@pytest.fixture
def outbox(app) -> BackgroundCollector:
    return BackgroundCollector(app)


def read(outbox):
    """Return the metrics without labels; jobs have run in no test here."""
    return {sample.name: sample.value for family in outbox.collect() for sample in family.samples}


@pytest.mark.both_databases
def test_the_age_is_that_of_the_oldest_pending_delivery(app, outbox):
    with app.app_context():
        send("email_changed", "ada@example.com", {}, lifetime=60)
        drain(app)
        db.session.execute(update(OutboxEvent).values(created=now() - timedelta(days=9)))
        send("email_changed", "ada@example.com", {}, lifetime=600)
        an_hour_ago = now() - timedelta(hours=1)
        pending = OutboxEvent.created > an_hour_ago
        db.session.execute(update(OutboxEvent).where(pending).values(created=an_hour_ago))
        send("email_changed", "ada@example.com", {}, lifetime=600)

    found = read(outbox)

    assert 3600 <= found.pop("ostiary_outbox_oldest_pending_seconds") < 7200
    assert found == {"ostiary_database_up": 1, "ostiary_outbox_pending_deliveries": 2}


@pytest.mark.both_databases
def test_the_last_runs_of_jobs_are_read(app, outbox):
    run = app.test_cli_runner()
    never = [family.name for family in outbox.collect() if family.samples]
    run.invoke(args=["jobs", "run", "purge-expired"])

    found = {
        sample.name: (sample.labels, sample.value)
        for family in outbox.collect()
        for sample in family.samples
        if "job" in sample.name
    }

    labels, end = found["ostiary_job_last_success_timestamp_seconds"]
    assert not any("job" in name for name in never)
    assert labels == {"name": "purge-expired"}
    assert is_recent(datetime.fromtimestamp(end, UTC))
    assert found["ostiary_job_last_duration_seconds"][1] >= 0


@pytest.mark.only_on("sqlite")
def test_the_statement_reads_what_is_pending_alone(app):
    with app.app_context(), db.engine.connect() as connection:
        compiled = PENDING_DELIVERIES.compile(connection, compile_kwargs={"literal_binds": True})
        plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {compiled}")).all())

    assert "SEARCH deliveries USING INDEX ix_deliveries_state_next_attempt" in plan
    assert "SCAN deliveries" not in plan


@pytest.mark.both_databases
def test_a_database_that_fails_is_down_and_is_asked_again(outbox, database_url, caplog):
    rename(database_url, "deliveries", "gone")
    try:
        assert read(outbox) == DOWN
    finally:
        rename(database_url, "gone", "deliveries")

    assert "metrics: no database: " in caplog.text
    assert read(outbox)["ostiary_database_up"] == 1


@pytest.mark.only_on("postgresql")
def test_a_database_that_hangs_holds_up_no_scrape(outbox, database_url, monkeypatch):
    monkeypatch.setattr(counting, "TIMEOUT", 0.1)
    with connected(database_url) as other:
        other.execute(text("LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE"))

        assert [read(outbox) for _ in range(3)] == [DOWN] * 3
        # Every scrape waits for the same statement.
        asking = [thread for thread in threading.enumerate() if thread.name == "metrics-database"]
        assert len(asking) == 1

    eventually(lambda: read(outbox) != DOWN)


def rename(url, old, new):
    with connected(url) as connection:
        connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))
