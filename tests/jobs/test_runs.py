"""Runs of jobs: who makes them, what is stored of them, and what is logged."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import event, select

from app import project_modules, times
from app.audit.models import AuditRecord
from app.database.session import db
from app.jobs.claims import Claim
from app.jobs.running import run, worker
from app.times import now
from tests.support.waiting import eventually, is_recent

from .conftest import HOUR, REMIND, change, claim, make_due, project, run_due, stored

FAIL = """
@every(hours=1)
def remind():
    raise LookupError("nobody\\nto remind")
"""
HANG = """
@every(hours=1)
def remind():
    calls.append("begun")
    begun.set()
    go_on.wait(60)
    calls.append("ended")
"""


@pytest.fixture
def running(request):
    """Run the jobs of an app on its thread until the test ends."""

    def start(app):
        worker.of(app).start()
        request.addfinalizer(worker.of(app).stop)
        return worker.of(app)

    return start


@pytest.mark.both_databases
def test_a_job_runs_when_it_is_due_and_a_missed_run_is_made_once(start):
    app = start()
    first = claim(app)
    make_due(app, ago=timedelta(days=3))

    error = run_due(app)

    row = stored(app)
    assert 0 < first <= 900
    assert 0 < claim(app) <= 900
    assert error is None
    assert project().calls == ["remind"]
    assert (row["runs"], row["error"], row["claimed_until"]) == (1, None, None)
    assert is_recent(row["started"])
    assert row["succeeded"] == row["ended"] >= row["started"]
    assert row["duration"] >= 0


@pytest.mark.both_databases
def test_one_of_several_instances_runs_a_job_that_is_due(start):
    apps = [start() for _ in range(2)]
    make_due(apps[0])
    barrier = Barrier(6)

    def try_it(number):
        barrier.wait(60)
        return claim(apps[number % 2])

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(try_it, range(6)))

    assert sum(isinstance(each, Claim) for each in found) == 1
    assert stored(apps[0])["runs"] == 1


@pytest.mark.both_databases
def test_a_run_that_hangs_is_made_by_another_instance_after_its_lease(start, caplog):
    slow, quick = start(HANG), start(HANG)
    make_due(slow)
    hung = claim(slow)
    thread = Thread(target=run, args=[slow, hung])
    thread.start()
    assert project().begun.wait(60)
    within = claim(quick)
    change(slow, claimed_until=now() - HOUR)

    second = claim(quick)
    project().go_on.set()
    thread.join(60)
    late = stored(slow)
    run(quick, second)

    assert 3600 >= within > 500
    assert (hung.run, second.run) == (1, 2)
    # The result of the first run, which ended late, is not that of the second.
    assert late["claimed_until"] is not None
    assert (late["ended"], late["duration"]) == (None, None)
    assert "remind:1 ended after its lease: its result is not stored" in caplog.text
    assert stored(slow)["succeeded"] is not None


@pytest.mark.only_on("postgresql")
def test_the_clocks_of_instances_do_not_matter(start, monkeypatch):
    app = start()
    fast, slow = (int((now() + hours * HOUR).timestamp() * 1e9) for hours in (1, -1))
    change(app, next_run=now() + timedelta(minutes=5))

    monkeypatch.setattr(times, "time_ns", lambda: fast)
    seconds = claim(app)
    monkeypatch.undo()
    make_due(app, ago=timedelta(minutes=5))
    monkeypatch.setattr(times, "time_ns", lambda: slow)
    run_due(app)
    monkeypatch.undo()

    assert 200 < seconds <= 300
    assert is_recent(stored(app)["started"])


def test_an_error_is_stored_and_logged_once_with_the_id_of_the_run(start, caplog):
    app = start(FAIL)
    make_due(app)

    run_due(app)

    row = stored(app)
    [line] = [each for each in caplog.records if "remind" in each.getMessage()]
    assert row["error"] == "LookupError: nobody to remind"
    assert (row["succeeded"], row["claimed_until"]) == (None, None)
    assert row["ended"] is not None
    assert (line.levelname, line.getMessage()) == ("ERROR", "the job remind failed")
    assert line.exc_info[0] is LookupError
    assert line.request_id == "remind:1"


@pytest.mark.both_databases
def test_an_error_with_any_characters_is_stored(start):
    app = start('@every(hours=1)\ndef remind():\n    raise ValueError("\\0é" + 500 * "x")\n')
    make_due(app)

    run_due(app)

    assert stored(app)["error"] == f"ValueError: ?é{186 * 'x'}"


@pytest.mark.both_databases
def test_an_error_of_the_database_is_stored_without_its_values(start):
    app = start(
        "from ostiary.database import db\n"
        "@every(hours=1)\n"
        "def remind():\n"
        "    db.session.connection().exec_driver_sql(\"SELECT 'a secret' FROM nothing\")\n"
    )
    make_due(app)

    run_due(app)

    assert stored(app)["error"] in {"OperationalError", "ProgrammingError"}


@pytest.mark.only_on("postgresql")
def test_an_error_of_the_database_is_logged_without_its_values(start, caplog):
    app = start(
        "from sqlalchemy import text\n"
        "from ostiary.database import db\n"
        "@every(hours=1)\n"
        "def remind():\n"
        "    value = {'value': '-'.join(['a', 'secret'])}\n"
        "    db.session.execute(text('SELECT CAST(:value AS integer)'), value)\n"
    )
    make_due(app)

    run_due(app)

    assert "DataError 22P02" in caplog.text
    assert "in remind" in caplog.text
    assert "a-secret" not in caplog.text


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        ("SystemExit(3)", "SystemExit: 3"),
        ("CancelledError()", "CancelledError"),
        ("GeneratorExit()", "GeneratorExit"),
        ("Mute()", "Mute"),
    ],
)
def test_a_job_has_failed_whatever_it_raises(start, raised, error):
    app = start(
        "from asyncio import CancelledError\n"
        "class Mute(Exception):\n"
        "    def __str__(self): return None\n"
        f"@every(hours=1)\ndef remind():\n    raise {raised}\n"
    )
    make_due(app)

    assert run_due(app) == stored(app)["error"] == error
    assert stored(app)["claimed_until"] is None


def test_what_a_job_does_is_attributed_to_its_run(start):
    app = start(
        "from ostiary import audit\n@every(hours=1)\ndef remind():\n    audit.record('reminded')\n"
    )
    make_due(app)

    run_due(app)

    with app.app_context():
        record = db.session.scalars(select(AuditRecord)).one()
    assert (record.action, record.request_id) == ("reminded", "remind:1")
    assert (record.user_id, record.actor_id, record.address) == (None, None, None)


def test_a_change_of_the_schedule_moves_the_next_run(start):
    app = start(REMIND.replace("minutes=15", "hours=24 * 365"))
    far = stored(app)["next_run"]
    # As another process does, which imports the changed file.
    project_modules.forget()

    near = stored(start())["next_run"]

    assert near < far
    assert near.minute % 15 == 0


def test_a_thread_runs_what_is_due_and_is_woken(start, running):
    app = start()
    make_due(app)
    jobs = running(app)
    eventually(lambda: project().calls == ["remind"])

    make_due(app)
    jobs.wake()

    eventually(lambda: len(project().calls) == 2)


def test_a_job_that_hangs_does_not_keep_others_and_is_not_run_twice_in_a_process(start, running):
    hang = HANG.replace("hours=1", "hours=1, lease=0.01").replace("remind", "hang")
    app = start(hang + REMIND)
    make_due(app, "hang", 2 * HOUR)
    make_due(app)

    jobs = running(app)
    eventually(lambda: "remind" in project().calls)
    make_due(app)
    jobs.wake()
    eventually(lambda: project().calls.count("remind") == 2)
    begun = project().calls.count("begun")
    project().go_on.set()

    assert begun == 1
    eventually(lambda: "ended" in project().calls)


def test_a_run_that_is_not_over_when_the_process_ends_is_made_again(start, running, monkeypatch):
    monkeypatch.setattr("app.jobs.running.STOP_TIMEOUT", 0.01)
    app = start(HANG)
    make_due(app)
    jobs = running(app)
    assert project().begun.wait(60)
    held = claim(app)

    jobs.stop()

    again = eventually(lambda: isinstance(found := claim(app), Claim) and found)
    project().go_on.set()
    assert held > 500
    assert again.run == 2


def test_the_service_works_on_without_its_tables_for_jobs(start, running, caplog):
    app = start()
    with app.app_context():
        db.session.connection().exec_driver_sql("ALTER TABLE scheduled_jobs RENAME TO gone")
        db.session.commit()
    try:
        running(app)
        eventually(lambda: "jobs failed: " in caplog.text)
    finally:
        worker.of(app).stop()
        with app.app_context():
            db.session.connection().exec_driver_sql("ALTER TABLE gone RENAME TO scheduled_jobs")
            db.session.commit()


@pytest.mark.both_databases
def test_a_job_that_is_claimed_while_the_process_ends_is_left_to_others(start):
    app = start()
    make_due(app)
    ending = Thread(target=worker.of(app).stop)

    def end(_connection, _cursor, statement, *_more):
        if statement.startswith("UPDATE scheduled_jobs") and ending.ident is None:
            ending.start()
            assert worker.of(app).pause(60)

    with app.app_context():
        event.listen(db.engine, "after_cursor_execute", end)
    worker.of(app).start()
    eventually(lambda: ending.ident)
    ending.join(60)

    assert project().calls == []
    assert isinstance(claim(app), Claim)
