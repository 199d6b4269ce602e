"""The commands `ostiary jobs`: list jobs, run one, and print when one is due."""

from datetime import UTC, datetime

import click
from flask import current_app

from app.commands import CommandGroup, json_option, print_rows
from app.times import iso_time, now

from . import claims, running

# The columns of a list, and what they show.
COLUMNS = {
    "name": "name",
    "schedule": "schedule",
    "nextRun": "next_run",
    "isRunning": "is_running",
    "started": "started",
    "duration": "duration",
    "succeeded": "succeeded",
    "error": "error",
}
#: Most times that `jobs next` prints.
MAX_TIMES = 1000
# Calendars end in 9999, and a line of crontab may come once in decades.
LAST_YEAR = 2200

jobs = CommandGroup("jobs", help="List jobs, run one, and see when one is due.")


@jobs.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the jobs with their last runs."""
    rows = [[job.get(name) for name in COLUMNS.values()] for job in claims.list_jobs()]
    print_rows([*COLUMNS], rows, as_json)


@jobs.command()
@click.argument("name")
def run(name: str) -> None:
    """Run a job now, in this process, unless it is running."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    claim = claims.claim_now(claims.find(name))
    if error := running.run(app, claim):
        raise click.ClickException(f"The job {name} failed: {error}")
    click.echo(f"Ran {name}.")


@jobs.command("next")
@click.argument("name")
@click.option("--after", metavar="TIME", help="A time with its zone; default: now.")
@click.option("--count", type=click.IntRange(1, MAX_TIMES), default=1, show_default=True)
def next_(name: str, after: str | None, count: int) -> None:
    """Print the next times at which a job is due, in UTC."""
    schedule = claims.find(name).schedule
    time = now() if after is None else _parse(after)
    for _ in range(count):
        time = schedule.next_after(time)
        click.echo(iso_time(time))


def _parse(text: str) -> datetime:
    """Return a time in UTC; raise BadParameter for one without a zone, or far from today."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = datetime.min
    if time.tzinfo is None or not 1970 < time.year < LAST_YEAR:
        raise click.BadParameter(f"{text!r} is no time such as 2026-01-02T03:04:05Z")
    return time.astimezone(UTC)
