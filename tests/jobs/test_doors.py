"""Jobs by commands, and by calls of admins."""

import json
from datetime import timedelta

import pytest

from app.times import now
from tests.admin.conftest import As
from tests.conftest import Api
from tests.support.answers import refusal
from tests.support.rows import make_admin

from .conftest import REMIND, change, claim, make_due, project, run_due, stored

FAIL = '@every(hours=1)\ndef remind():\n    raise LookupError("nobody")\n'
WEEKLY = "@every(hours=168)\ndef weekly():\n    pass\n"
NIGHTLY = '@cron("0 3 * * *", zone="Europe/Berlin", lease=60)\ndef remind():\n    pass\n'


@pytest.fixture
def start_as_admin(start, secrets):
    """Start an app, and return it with what calls it as an admin."""

    def start_it(code=REMIND):
        app = start(code)
        api = Api(app.test_client(), secrets)
        caller = As(api, api.logged_in("ada@example.com"))
        make_admin(app)
        return app, caller

    return start_it


@pytest.mark.both_databases
def test_admins_see_jobs_with_their_last_runs(start_as_admin):
    app, admin = start_as_admin(NIGHTLY)
    new = admin.get("/admin/jobs")
    make_due(app)
    run_due(app)

    purge, remind = admin.get("/admin/jobs")

    assert (purge["name"], purge["schedule"]) == ("purge-expired", "every 0:01:00")
    assert new[1] == {
        "name": "remind",
        "schedule": "0 3 * * * (Europe/Berlin)",
        "lease": 60,
        "nextRun": new[1]["nextRun"],
        "isRunning": False,
        "runs": 0,
        **dict.fromkeys(("claimedBy", "started", "ended", "duration", "succeeded", "error")),
    }
    assert remind["runs"] == 1
    assert remind["claimedBy"]
    assert remind["succeeded"] == remind["ended"] >= remind["started"]


@pytest.mark.both_databases
def test_an_admin_lets_a_job_run_now_unless_it_is_running(start_as_admin):
    app, admin = start_as_admin()

    asked = admin("POST", "/admin/jobs/remind/run")
    again = admin("POST", "/admin/jobs/remind/run")
    running = claim(app)
    refused = admin("POST", "/admin/jobs/remind/run")

    assert [(answer.status_code, answer.data) for answer in (asked, again)] == [(202, b"")] * 2
    assert running.run == 1
    assert refusal(refused) == (409, "CONFLICT")
    assert refused.json["error"]["message"] == "The job remind is running."
    assert admin.get("/admin/jobs")[1]["isRunning"]
    records = admin.get("/admin/audit", query_string={"filter[where][action]": "job-requested"})
    assert [(record["actorId"], record["details"]) for record in records] == [
        (1, {"job": "remind"})
    ] * 2


def test_others_neither_see_jobs_nor_run_them_and_unknown_ones_are_404(start_as_admin):
    app, admin = start_as_admin()
    planned = stored(app)["next_run"]
    bob = As(admin.api, admin.api.logged_in("bob@example.com"))

    assert refusal(bob("GET", "/admin/jobs")) == (403, "ACCESS_DENIED")
    assert refusal(bob("POST", "/admin/jobs/remind/run")) == (403, "ACCESS_DENIED")
    assert refusal(admin("POST", "/admin/jobs/gone/run")) == (404, "MODEL_NOT_FOUND")
    assert stored(app)["next_run"] == planned


@pytest.mark.both_databases
def test_a_command_runs_a_job_although_it_is_not_due(start):
    app = start()

    result = app.test_cli_runner().invoke(args=["jobs", "run", "remind"])

    assert (result.exit_code, result.output) == (0, "Ran remind.\n")
    assert project().calls == ["remind"]
    assert stored(app)["runs"] == 1


def test_a_command_says_why_a_job_did_not_run(start):
    app = start(FAIL)
    run = app.test_cli_runner()

    failed = run.invoke(args=["jobs", "run", "remind"])
    unknown = run.invoke(args=["jobs", "run", "gone"])
    change(app, claimed_until=now() + timedelta(seconds=60))
    running = run.invoke(args=["jobs", "run", "remind"])

    assert [result.exit_code for result in (failed, unknown, running)] == [1, 1, 1]
    assert failed.output == "Error: The job remind failed: LookupError: nobody\n"
    assert unknown.output == 'Error: Unknown "job" id "gone".\n'
    assert running.output == "Error: The job remind is running.\n"


def test_a_command_lists_the_jobs(start):
    app = start(FAIL)
    make_due(app)
    run_due(app)
    run = app.test_cli_runner()

    table = run.invoke(args=["jobs", "list"]).output.splitlines()
    listed = json.loads(run.invoke(args=["jobs", "list", "--json"]).output)

    assert table[0].split() == [*listed[0]]
    assert table[2].startswith("remind         every 1:00:00")
    assert table[2].endswith("LookupError: nobody")
    assert [job["name"] for job in listed] == ["purge-expired", "remind"]
    assert listed[1]["nextRun"].endswith(":00:00.000Z")


def test_jobs_are_found_in_files_of_models_and_in_what_these_import(make_app, tmp_path, caplog):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "_nightly.py").write_text(f"from ostiary.jobs import every\n{REMIND}")
    (folder / "loans.py").write_text(
        f"from ostiary.jobs import every\nfrom models._nightly import remind\n{WEEKLY}"
    )
    app = make_app(MODELS_FOLDER=str(folder))

    listed = json.loads(app.test_cli_runner().invoke(args=["jobs", "list", "--json"]).output)

    assert [job["name"] for job in listed] == ["purge-expired", "remind", "weekly"]
    assert "is no model" not in caplog.text


def test_jobs_are_listed_before_a_process_has_stored_them(make_app, write_project):
    app = make_app(PROJECT_FILE=write_project(REMIND))

    listed = app.test_cli_runner().invoke(args=["jobs", "list", "--json"]).output

    assert [(job["name"], job["nextRun"]) for job in json.loads(listed)] == [
        ("purge-expired", None),
        ("remind", None),
    ]


def test_calling_a_job_runs_its_function_alone(start):
    app = start()

    project().remind()

    assert project().calls == ["remind"]
    assert stored(app)["runs"] == 0
