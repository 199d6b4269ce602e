"""Claiming jobs: a lease gives each to one process at a time, by the database's clock."""

import os
import socket
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, select, type_coerce, update
from sqlalchemy.sql.dml import Update
from werkzeug.exceptions import Conflict

from app.audit.entries import Action, record
from app.database.columns import UtcDateTime
from app.database.dialects import DatabaseTime, insert_for
from app.database.session import affected_rows, db, transaction
from app.errors import ModelNotFound

from .declarations import Job, jobs
from .models import ScheduledJob

# The host's name is bounded by the system, at 64 characters on Linux.
PROCESS = f"{socket.gethostname()[:200]}:{{}}"
CLOCK = type_coerce(DatabaseTime(), UtcDateTime)
# When a job may be claimed: during a run, at the end of its lease.
DUE_AT = func.coalesce(ScheduledJob.claimed_until, ScheduledJob.next_run, type_=UtcDateTime)


class Claim(NamedTuple):
    """A run of a job that this process may make, and the time at which it began."""

    job: Job
    run: int
    started: datetime

    @property
    def id(self) -> str:
        """The id of the run, in place of that of a request."""
        return f"{self.job.name}:{self.run}"


def is_running(time: ColumnElement[datetime] | datetime) -> ColumnElement[bool]:
    """Return the condition that a process has a job's lease at this time."""
    return and_(ScheduledJob.claimed_until.is_not(None), ScheduledJob.claimed_until > time)


def store(declared: Mapping[str, Job]) -> None:
    """Store when jobs are due that are new, or whose schedule has changed.

    A stored time that has passed stays: a run was missed, and is made once.
    """
    moment = _read_clock()
    insert = insert_for(db.engine.dialect.name)(ScheduledJob)
    for job in declared.values():
        time = job.schedule.next_after(moment)
        row = insert.values(name=job.name, next_run=time, runs=0)
        differs = and_(ScheduledJob.next_run > moment, ScheduledJob.next_run != time)
        planned = row.on_conflict_do_update(
            index_elements=["name"], set_={"next_run": time}, where=differs
        )
        db.session.execute(planned)


def claim_due(declared: Mapping[str, Job], busy: Collection[str]) -> Claim | float:
    """Claim the job that has been due for longest; else return the seconds until one is due.

    `busy` are the names of those that this process runs already. Takes no write lock if none is
    due.
    """
    known = ScheduledJob.name.in_([name for name in declared if name not in busy])
    due = select(ScheduledJob.name, DUE_AT.label("due_at"), CLOCK.label("moment"))
    seconds = float("inf")
    for row in db.session.execute(due.where(known).order_by(DUE_AT)).all():
        seconds = (row.due_at - row.moment).total_seconds()
        if seconds > 0:
            break
        if claim := _claim(declared[row.name], row.moment, row.moment >= DUE_AT):
            return claim
        seconds = 0.0
    return seconds


def claim_now(job: Job) -> Claim:
    """Claim a job that need not be due; raise Conflict if it is running."""
    store({job.name: job})
    moment = _read_clock()
    if claim := _claim(job, moment, ~is_running(moment)):
        return claim
    raise Conflict(f"The job {job.name} is running.")


def request_run(name: str) -> None:
    """Let a job be due now; raise ModelNotFound, or Conflict if it is running."""
    job = find(name)
    with transaction():
        store({name: job})
        if not affected_rows(_update(job, ~is_running(CLOCK)).values(next_run=CLOCK)):
            raise Conflict(f"The job {name} is running.")
        record(Action.JOB_REQUESTED, job=name)


def find(name: str) -> Job:
    """Return the job of the current app with this name; raise ModelNotFound."""
    if name not in jobs.current:
        raise ModelNotFound("job", name)
    return jobs.current[name]


def finish(claim: Claim, seconds: float, error: str | None) -> bool:
    """Store how a run ended; return False if another process has claimed the job meanwhile."""
    ended = claim.started + timedelta(seconds=seconds)
    values = {"ended": ended, "duration": seconds, "error": error, "claimed_until": None}
    if error is None:
        values["succeeded"] = ended
    return _change(claim, values)


def shorten(claim: Claim, seconds: float) -> None:
    """Let the lease of a run end so many seconds from now, if it does not end before."""
    end = _read_clock() + timedelta(seconds=seconds)
    _change(claim, {"claimed_until": end}, ScheduledJob.claimed_until > end)


def list_jobs() -> list[dict[str, Any]]:
    """Return the jobs of the current app by name, with what is stored of each.

    Nothing is stored of a job before a process of the service has started.
    """
    names = sorted(jobs.current)
    columns = ScheduledJob.__table__.columns
    stored = select(*columns, is_running(CLOCK).label("is_running"))
    rows = db.session.execute(stored.where(ScheduledJob.name.in_(names)))
    found = {row.name: row._asdict() for row in rows}
    unknown = {**dict.fromkeys(columns.keys()), "runs": 0, "is_running": False}
    return [{**found.get(name, unknown), **_describe(jobs.current[name])} for name in names]


def _read_clock() -> datetime:
    return db.session.scalars(select(CLOCK)).one()


def _describe(job: Job) -> dict[str, Any]:
    return {"name": job.name, "schedule": str(job.schedule), "lease": job.lease}


def _claim(job: Job, moment: datetime, condition: ColumnElement[bool]) -> Claim | None:
    """Claim a job at this time of the database, unless another process was faster."""
    values = {
        "next_run": job.schedule.next_after(moment),
        "runs": ScheduledJob.runs + 1,
        "claimed_until": moment + timedelta(seconds=job.lease),
        "claimed_by": PROCESS.format(os.getpid()),
        "started": moment,
        "ended": None,
        "error": None,
    }
    claiming = _update(job, condition).values(values).returning(ScheduledJob.runs)
    run = db.session.scalar(claiming)
    return None if run is None else Claim(job, run, moment)


def _change(claim: Claim, values: Mapping[str, object], *conditions: ColumnElement[bool]) -> bool:
    """Change the row of a job, unless another process has claimed it; return whether it did."""
    ours = _update(claim.job, ScheduledJob.runs == claim.run, *conditions)
    return affected_rows(ours.values(values)) > 0


def _update(job: Job, *conditions: ColumnElement[bool]) -> Update:
    """Return the statement that changes the row of a job if the conditions hold."""
    changed = update(ScheduledJob).where(ScheduledJob.name == job.name, *conditions)
    return changed.execution_options(synchronize_session=False)
