"""The arithmetic of throttles: windows, locks, giving back, and exact counts."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from app import throttles
from app.database.session import db, transaction
from app.errors import TooManyRequests
from app.observability.origin import current_network
from app.settings import ThrottlesSchema
from app.throttles import (
    LOGIN_ADDRESS,
    LOGIN_IDENTITY,
    REGISTRATION,
    Throttle,
    count,
    count_failure,
)
from app.times import now
from tests.support.live import ROOT
from tests.support.throttles import counts, pass_time

# How many try at the same time.
CROWD = 16

pytestmark = [pytest.mark.both_databases, pytest.mark.usefixtures("stopped_clock")]


@pytest.fixture
def app(shared_app):
    return shared_app(THROTTLE_ENABLED=True)


@pytest.fixture
def context(app):
    with app.app_context():
        yield


def passes(name, *key, uses=1):
    """Return True for a use that passes, else the seconds after which to try again."""
    try:
        count(name, *key, uses=uses)
    except TooManyRequests as error:
        return error.retry_after
    return True


def failing_connection():
    raise OperationalError("UPDATE", {}, Exception("the database is locked"))


def test_the_throttles_are_those_that_the_settings_have():
    names = [value for name, value in vars(throttles).items() if name.isupper()]
    known = ThrottlesSchema().fields.keys()
    code = "".join(path.read_text() for path in (ROOT / "app").rglob("*.py"))

    assert {name for name in names if isinstance(name, str)} <= known
    assert {name for name in known if f'"{name}"' not in code} == set()


def test_as_many_uses_pass_in_a_window_as_the_limit_says(app, context):
    assert [passes(LOGIN_ADDRESS, "a") for _ in range(12)] == [True] * 10 + [60] * 2

    pass_time(app, 20)
    assert passes(LOGIN_ADDRESS, "a") == 40
    pass_time(app, 40)

    assert [passes(LOGIN_ADDRESS, "a") for _ in range(11)] == [True] * 10 + [60]


def test_keys_and_throttles_are_counted_apart(context):
    keys = [("a",), ("b",), ("a", ""), ("a", "b"), ("ab",), (1,), ("1",), ("a\0b",), ("é",)]

    for key in keys:
        assert [passes(LOGIN_IDENTITY, *key) for _ in range(6)] == [True] * 5 + [60]
    assert passes(LOGIN_ADDRESS, "a") is True


def test_each_failure_after_the_limit_locks_for_twice_as_long(app, context):
    for _ in range(5):
        count(LOGIN_IDENTITY, "a")
    locks = []
    for _ in range(7):
        locks.append(passes(LOGIN_IDENTITY, "a"))
        pass_time(app, locks[-1])
        assert passes(LOGIN_IDENTITY, "a") is True

    assert locks == [60, 120, 240, 480, 900, 900, 900]


def test_a_refused_use_does_not_prolong_the_lock(app, context):
    for _ in range(5):
        count(LOGIN_IDENTITY, "a")
    pass_time(app, 30)

    assert {passes(LOGIN_IDENTITY, "a") for _ in range(5)} == {30}


def test_failures_are_forgotten_a_window_after_the_last_lock(app, context):
    for _ in range(5):
        count(LOGIN_IDENTITY, "a")

    pass_time(app, 60 + 299)
    assert [passes(LOGIN_IDENTITY, "a") for _ in range(2)] == [True, 120]
    pass_time(app, 120 + 300)

    assert [passes(LOGIN_IDENTITY, "a") for _ in range(6)] == [True] * 5 + [60]


def test_an_attempt_that_succeeds_is_given_back(app, context):
    for _ in range(20):
        with count_failure(LOGIN_IDENTITY, "a"):
            pass

    assert counts(app) == {LOGIN_IDENTITY: [0]}


def test_an_attempt_that_succeeds_gives_nothing_else_back(context):
    for _ in range(4):
        count(LOGIN_IDENTITY, "a")
    for _ in range(3):
        with count_failure(LOGIN_IDENTITY, "a"):
            assert passes(LOGIN_IDENTITY, "a") == 60

    assert [passes(LOGIN_IDENTITY, "a") for _ in range(2)] == [True, 60]


def test_a_success_after_a_lock_leaves_no_lock_of_its_own(app, context):
    for _ in range(5):
        count(LOGIN_IDENTITY, "a")
    pass_time(app, 60)
    for _ in range(2):
        with count_failure(LOGIN_IDENTITY, "a"):
            assert passes(LOGIN_IDENTITY, "a") == 120

    assert [passes(LOGIN_IDENTITY, "a") for _ in range(2)] == [True, 120]


def test_an_attempt_of_a_window_that_is_over_gives_nothing_back(app, context, monkeypatch):
    later = now() + timedelta(seconds=60)
    with count_failure(LOGIN_ADDRESS, "a"):
        monkeypatch.setattr(throttles, "now", lambda: later)
        count(LOGIN_ADDRESS, "a")

    assert counts(app) == {LOGIN_ADDRESS: [1]}


def test_an_attempt_that_cannot_be_given_back_stays_counted(app, context, caplog, monkeypatch):
    with count_failure(LOGIN_ADDRESS, "a"):
        monkeypatch.setattr(throttles, "connection", failing_connection)

    assert counts(app) == {LOGIN_ADDRESS: [1]}
    assert "a use was not given back" in caplog.text


def test_several_uses_pass_together_or_not_at_all(context):
    assert passes(REGISTRATION, "a", uses=15) is True
    assert passes(REGISTRATION, "a", uses=6) == 60
    assert passes(REGISTRATION, "a", uses=5) is True
    # More than the limit, which no waiting would help: the first of a window passes.
    assert passes(REGISTRATION, "b", uses=21) is True
    assert passes(REGISTRATION, "b") == 60


def test_a_limit_of_one_locks_at_once(make_app):
    one = {"login_identity": {"limit": 1, "lock": 7, "max_lock": 20}}
    app = make_app(THROTTLE_ENABLED=True, THROTTLES=one)

    with app.app_context():
        found = [passes(LOGIN_IDENTITY, "a") for _ in range(2)]
        pass_time(app, 7)
        found += [passes(LOGIN_IDENTITY, "a") for _ in range(2)]
        pass_time(app, 14)
        found += [passes(LOGIN_IDENTITY, "a") for _ in range(2)]

    assert found == [True, 7, True, 14, True, 20]


def test_a_clock_that_was_set_back_locks_nobody_out(app, context):
    for _ in range(10):
        count(LOGIN_ADDRESS, "a")
    pass_time(app, -86400)

    assert passes(LOGIN_ADDRESS, "a") is True


def test_nothing_is_counted_for_a_command(app, context):
    assert current_network() is None
    assert count(LOGIN_ADDRESS, current_network()) is None
    assert counts(app) == {}


def test_a_count_in_a_transaction_is_refused(context):
    with pytest.raises(RuntimeError, match="rollback"), transaction():
        count(LOGIN_ADDRESS, "a")


def test_a_row_has_a_bounded_size(app, context):
    count(LOGIN_IDENTITY, "realm" * 10_000, "email", "\ud800" * 10_000)

    row = db.session.scalars(select(Throttle)).one()
    assert len(row.name) + len(row.digest) < 100


def test_concurrent_threads_pass_as_often_as_the_limit_says(app):
    barrier = Barrier(CROWD)

    def run(_):
        with app.app_context():
            barrier.wait(60)
            return passes(LOGIN_IDENTITY, "a"), passes(LOGIN_ADDRESS, "b")

    with ThreadPoolExecutor(CROWD) as pool:
        identity, address = zip(*pool.map(run, range(CROWD)), strict=True)

    assert identity.count(True) == 5
    assert set(identity) == {True, 60}
    assert address.count(True) == 10


# Processes that are forked before one of them is connected, and begin together.
PROGRAM = """
import os, sys
from app.factory import create_app
from werkzeug.test import Client
# On a busy machine SQLite may let one of them wait for long.
app = create_app({"SQLALCHEMY_DATABASE_URI": sys.argv[1], "STATEMENT_TIMEOUT": 60,
                  "PASSWORD_HASH": {"time_cost": 1, "memory_cost": 8}})
start, go = os.pipe()
body = {"email": "ada@example.com", "password": "wrong"}
for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.close(go)
        os.read(start, 1)
        client = {"REMOTE_ADDR": f"192.0.2.{number}"}
        for _ in range(3):
            answer = Client(app).post("/api/users/login", json=body, environ_overrides=client)
            os.write(1, f"{answer.status_code}\\n".encode())
        os._exit(0)
os.close(go)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""


@pytest.mark.live
def test_concurrent_processes_pass_as_often_as_the_limit_says(database_url):
    command = [sys.executable, "-c", PROGRAM, database_url, str(CROWD)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)

    assert done.stderr == ""
    assert sorted(done.stdout.split()) == ["401"] * 5 + ["429"] * (3 * CROWD - 5)
