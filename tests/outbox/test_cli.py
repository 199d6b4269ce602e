"""The commands `flask outbox`."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from sqlalchemy import text

from app import outbox
from app.database.session import db
from app.mail import send
from app.outbox.delivery import drain
from app.outbox.models import Delivery, OutboxEvent
from tests.support.installation import ROOT
from tests.support.rows import count
from tests.support.waiting import eventually

from .conftest import make_past, rows


@pytest.fixture
def run(recorder):
    def run(*arguments):
        return recorder.app.test_cli_runner().invoke(args=["outbox", *arguments])

    return run


@pytest.fixture
def three(recorder):
    """A recorder with a delivered, a failed and a pending delivery: 1, 2 and 3."""
    recorder.record(1)
    drain(recorder.app)
    recorder.failures.append(outbox.UndeliverableError("550"))
    recorder.record(2)
    drain(recorder.app)
    recorder.record(3)
    return recorder


def test_list_is_a_table_with_the_newest_first(run, three):
    header, *lines = run("list").output.splitlines()

    assert header.split() == [
        *("id", "event", "subscriber", "recipient", "state", "attempts", "created", "deadline"),
        *("nextAttempt", "requestId", "lastError"),
    ]
    assert [line.split()[-3] != "-" for line in lines] == [True, False, False]
    found = [(line.split()[0], line.split()[4], line.split()[-1]) for line in lines]
    assert found == [("3", "pending", "-"), ("2", "failed", "550"), ("1", "delivered", "-")]


def test_list_in_json_of_one_state(run, three):
    [row] = json.loads(run("list", "--state", "failed", "--limit", "5", "--json").output)

    assert (row["id"], row["state"], row["attempts"], row["lastError"]) == (2, "failed", 1, "550")
    assert row["created"].endswith("Z")
    # What is recorded outside of a request has none.
    assert row["requestId"] is None


def test_run_once_delivers_what_is_due(run, three):
    three.record(4, obsolete=True)

    assert run("run", "--once").stdout == "Attempted 2 deliveries: 1 delivered, 1 obsolete.\n"
    assert run("run", "--once").stdout == "Attempted 0 deliveries.\n"
    assert three.delivered == [1, 3]


def test_list_says_whose_mail_it_is(run, recorder):
    recorder.record(1, email="ada@example.com")
    recorder.record(2, old_email="bo@example.com", email="new@example.com")
    recorder.record(3)

    listed = json.loads(run("list", "--json").output)
    assert [row["recipient"] for row in listed] == [None, "bo@example.com", "ada@example.com"]


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("damaged", ['{"number": 5', "[" * 100_000, ""])
def test_an_event_whose_data_cannot_be_read_fails_alone(run, recorder, damaged):
    recorder.record(*range(10))
    with recorder.app.app_context():
        values = {"data": damaged, "id": 5}
        db.session.execute(text("UPDATE outbox SET data = :data WHERE id = :id"), values)
        db.session.commit()

    once = run("run", "--once").stdout
    failed = json.loads(run("list", "--state", "failed", "--json").output)
    retried = run("retry", "--all").output

    assert once == "Attempted 10 deliveries: 9 delivered, 1 failed.\n"
    assert [(row["id"], row["lastError"]) for row in failed] == [(5, "its data cannot be read")]
    assert retried == "1 deliveries are tried again.\n"
    assert run("run", "--once").stdout == "Attempted 1 deliveries: 1 failed.\n"


@pytest.mark.parametrize("arguments", [["--all"], ["2"]])
def test_retry_tries_again_for_another_lifetime(run, three, arguments):
    make_past(three.app, created=timedelta(days=2), deadline=timedelta(days=1))

    assert run("retry", *arguments).output == "1 deliveries are tried again.\n"

    # The pending one has expired meanwhile.
    assert drain(three.app) == {"delivered": 1, "expired": 1}
    assert three.delivered == [1, 2]
    assert three.attempts[-1].is_retried is True
    assert three.attempts[-1].number == 1


@pytest.mark.parametrize("wrong", ["1", "3", "99"])
def test_retry_of_what_did_not_fail_changes_nothing(run, three, wrong):
    result = run("retry", "2", wrong)

    assert (result.exit_code, result.output) == (
        1,
        f'Error: Unknown "failed delivery" id "{wrong}".\n',
    )
    assert [state for [state] in rows(three.app, Delivery.state)] == [
        "delivered",
        "failed",
        "pending",
    ]


def test_retry_takes_ids_or_all(run, three):
    assert [run("retry").exit_code, run("retry", "--all", "2").exit_code] == [2, 2]


@pytest.mark.parametrize(("arguments", "purged"), [([], 0), (["--days", "0"], 2)])
def test_purge_deletes_what_is_finished(run, three, arguments, purged):
    make_past(three.app, created=timedelta(days=2), finished=timedelta(days=1))

    assert run("purge", *arguments).output == f"Purged {purged} events.\n"
    assert count(three.app, OutboxEvent) == count(three.app, Delivery) == 3 - purged


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_delivers_until_it_is_stopped(recorder, database_url, tmp_path, number):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("APP_")},
        "DATABASE_URL": database_url,
        "APP_MAIL_FOLDER": str(tmp_path),
        "APP_OUTBOX_POLL_INTERVAL": "0.1",
        "APP_OUTBOX_IN_PROCESS": "false",
    }
    command = [sys.executable, "-m", "flask", "outbox", "run"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"Delivering until SIGTERM or SIGINT.\n"
    with recorder.app.app_context():
        send("email_changed", "ada@example.com", {}, lifetime=60)
    eventually(lambda: list(tmp_path.glob("*.eml")))
    process.send_signal(number)

    assert process.communicate(timeout=60)[0] == b"Stopped.\n"
    assert process.returncode == 0
    assert rows(recorder.app, Delivery.state) == [("delivered",)]
