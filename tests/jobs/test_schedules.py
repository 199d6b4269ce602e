"""When jobs are due: intervals, lines of crontab, changes of summer time."""

import pytest

from app.problems import ConfigurationError

from .conftest import REMIND

# Summer time begins in Berlin on 2027-03-28 at 01:00 UTC, and ends on 2027-10-31 at 01:00 UTC.
CASES = {
    "minutes": ("every(minutes=15)", "2027-01-01T00:07:00Z", ["01T00:15", "01T00:30", "01T00:45"]),
    "a sum": ("every(hours=1, minutes=30)", "2027-01-01T00:00Z", ["01T01:30", "01T03:00"]),
    "the time itself is not after it": ("every(hours=6)", "2027-01-01T06:00Z", ["01T12:00"]),
    "in UTC": ('cron("0 3 * * *")', "2027-01-01T04:00+01:00", ["02T03:00", "03T03:00"]),
    "in a zone": (
        'cron("0 3 * * *", zone="Asia/Kolkata")',
        "2027-01-01T00:00Z",
        ["01T21:30", "02T21:30"],
    ),
    "on days of the week": ('cron("0 9 * * mon-fri")', "2027-01-01T12:00Z", ["04T09:00"]),
    "a skipped time is made at the end of the hour": (
        'cron("30 2 * * *", zone="Europe/Berlin")',
        "2027-03-26T12:00Z",
        ["27T01:30", "28T01:00", "29T00:30"],
    ),
    "two times in one, once": (
        'cron("0 2,3 * * *", zone="Europe/Berlin")',
        "2027-03-27T12:00Z",
        ["28T01:00", "29T00:00", "29T01:00"],
    ),
    "a repeated time is made once": (
        'cron("30 2 * * *", zone="Europe/Berlin")',
        "2027-10-29T12:00Z",
        ["30T00:30", "31T00:30", "01T01:30"],
    ),
    "also if it is asked for in the hour that is repeated": (
        'cron("30 2 * * *", zone="Europe/Berlin")',
        "2027-10-31T01:15Z",
        ["01T01:30"],
    ),
    "each half hour, when one is skipped": (
        'cron("*/30 * * * *", zone="Europe/Berlin")',
        "2027-03-28T00:30Z",
        ["28T01:00", "28T01:30"],
    ),
    "each ten minutes of an hour that is skipped": (
        'cron("*/10 2 * * *", zone="Europe/Berlin")',
        "2027-03-27T01:45Z",
        ["27T01:50", "29T00:00"],
    ),
    "each half hour, when one is repeated": (
        'cron("*/30 * * * *", zone="Europe/Berlin")',
        "2027-10-31T00:00Z",
        ["31T00:30", "31T01:00", "31T01:30", "31T02:00"],
    ),
}


@pytest.mark.parametrize(("schedule", "after", "times"), CASES.values(), ids=CASES)
def test_the_next_times_are_printed(start, schedule, after, times):
    app = start(f"@{schedule}\ndef remind():\n    pass\n")

    options = ["--after", after, "--count", str(len(times))]
    printed = app.test_cli_runner().invoke(args=["jobs", "next", "remind", *options])

    lines = printed.output.split()
    assert [line[8:16] for line in lines] == times
    assert all(line.endswith(":00.000Z") for line in lines)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('@cron("0 3 * *")', "'0 3 * *' is no line of crontab, or never comes"),
        ('@cron("0 0 30 2 *")', "'0 0 30 2 *' is no line of crontab, or never comes"),
        ('@cron("* * * * * *")', "'* * * * * *' is no line of crontab, or never comes"),
        ('@cron("61 * * * *")', "'61 * * * *' is no line of crontab, or never comes"),
        ('@cron("0 3 * * *", zone="Berlin")', "'Berlin' is no time zone of this system; the"),
        ('@cron("0 3 * * *", zone="../x")', "'../x' is no time zone of this system; the"),
        ("@every()", "an interval has whole seconds, from 1 to those of 366"),
        ("@every(minutes=-1)", "an interval has whole seconds, from 1 to those of 366"),
        ("@every(seconds=0.5)", "an interval has whole seconds, from 1 to those of 366"),
        ("@every(hours=10**9)", "an interval has whole seconds, from 1 to those of 366"),
        ('@every(seconds=1, lease=float("inf"))', "a lease has more than 0 seconds"),
        ("@every(seconds=1, lease=0)", "a lease has more than 0 seconds"),
    ],
)
def test_a_schedule_that_cannot_be_is_an_error_at_the_start(start, code, said):
    with pytest.raises(ConfigurationError) as caught:
        start(f"{code}\ndef remind():\n    pass\n")

    assert str(caught.value).startswith("project.py:12: ValueError: ")
    assert said in str(caught.value)


def test_names_of_jobs_are_unique(start, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mails.py").write_text(f"from ostiary.jobs import every\n{REMIND}")
    with pytest.raises(ConfigurationError, match=r"^there are two jobs remind: rename one of the"):
        start(f"import mails\n{REMIND}")


def test_names_of_jobs_are_bounded(start):
    with pytest.raises(ConfigurationError, match="a job has at most 48 characters"):
        start(REMIND.replace("def remind", f"def {'remind' * 9}"))


@pytest.mark.parametrize(
    "function",
    [
        "def remind(user): pass",
        "async def remind(): pass",
        "def remind(): yield",
        "async def remind(): yield",
    ],
)
def test_a_job_that_a_call_would_not_run_is_an_error(start, function):
    with pytest.raises(ConfigurationError, match="remind is async, yields, or has arguments with"):
        start(f"@every(hours=1)\n{function}\n")


@pytest.mark.parametrize(
    "code",
    [
        "def outer():\n    @every(hours=1)\n    def remind():\n        pass\nouter()\n",
        "class Outer:\n    @every(hours=1)\n    def remind():\n        pass\n",
    ],
)
def test_a_job_inside_a_function_or_class_is_an_error_as_nobody_would_find_it(start, code):
    with pytest.raises(ConfigurationError, match="remind is inside a function or class, where no"):
        start(code)


@pytest.mark.parametrize(
    "code",
    [
        "remind = every(hours=1)(lambda: None)",
        "@every(hours=1)\nclass remind: pass",
        "@every(hours=1)\n@cron('0 3 * * *')\ndef remind(): pass",
    ],
)
def test_a_job_that_is_no_function_of_its_own_is_an_error(start, code):
    with pytest.raises(
        ConfigurationError, match=r"project.py:\d+: .*a job is declared by def, and "
    ):
        start(code)


@pytest.mark.parametrize(
    "after",
    ["yesterday", "2027-01-01T00:00:00", "2027-01-01", "0001-01-01T00:00+14:00", "9999-12-31T00Z"],
)
def test_a_time_without_a_zone_or_beyond_the_calendar_is_refused(start, after):
    app = start()

    result = app.test_cli_runner().invoke(args=["jobs", "next", "remind", "--after", after])

    assert result.exit_code == 2
    assert f"{after!r} is no time such as 2026-01-02T03:04:05Z" in result.output
