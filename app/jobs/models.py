"""The table of scheduled jobs: when each is due, who runs it, and how its last run ended."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.session import Model

#: Maximum characters of the name of a job.
MAX_NAME = 48
#: Maximum characters of the stored error of a job.
MAX_ERROR = 200


class ScheduledJob(Model):
    """A job; its times are those of the database's clock."""

    __tablename__ = "scheduled_jobs"

    name: Mapped[str] = mapped_column(String(MAX_NAME), primary_key=True)
    next_run: Mapped[datetime] = mapped_column(UtcDateTime)
    # The number of runs that were begun, which also shows whether a claim is still its process's.
    runs: Mapped[int] = mapped_column(default=0)
    # During a run, the end of its lease, and the host and process.
    claimed_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    claimed_by: Mapped[str | None] = mapped_column(String(255))
    # The run in progress, or the last one; `ended` and `error` are None during a run.
    started: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ended: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[str | None] = mapped_column(String(MAX_ERROR))
    # Seconds of the last run that ended, and the end of the last one without an error.
    duration: Mapped[float | None]
    succeeded: Mapped[datetime | None] = mapped_column(UtcDateTime)
