"""When a job is due: at regular intervals, or at the times of a line of crontab."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Protocol
from zoneinfo import ZoneInfo

# What intervals are counted from.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Maximum seconds of an interval, and of a lease.
MAX_SECONDS = 366 * 86400
# The fields of a line: minute, hour, day of the month, month, day of the week.
FIELDS = 5


class Schedule(Protocol):
    """The times at which a job is due; as text, it is for people."""

    def next_after(self, time: datetime) -> datetime:
        """Return the first time after this one, in UTC."""


@dataclass(frozen=True)
class Interval:
    """Every so many seconds, counted from the midnight of UTC that began 1970.

    So all instances agree, and 15 minutes are those at 0, 15, 30 and 45 past.
    """

    seconds: int

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= MAX_SECONDS or self.seconds != int(self.seconds):
            raise ValueError("an interval has whole seconds, from 1 to those of 366 days")

    def __str__(self) -> str:
        return f"every {timedelta(seconds=self.seconds)}"

    def next_after(self, time: datetime) -> datetime:
        """Return the first time after this one, in UTC."""
        step = timedelta(seconds=self.seconds)
        return time - (time - EPOCH) % step + step


@dataclass(frozen=True)
class Crontab:
    """The times of a line of crontab in a time zone, as Debian's cron understands it.

    When summer time begins or ends, a time in the skipped hour is moved to its end, and one in the
    repeated hour comes the first time only. If minute or hour begins with `*`, elapsed time counts.
    """

    line: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (LookupError, ValueError, OSError):
            raise ValueError(
                f"{self.zone!r} is no time zone of this system; the package tzdata has all"
            ) from None
        if len(self.line.split()) != FIELDS or self._find_after(EPOCH) is None:
            raise ValueError(f"{self.line!r} is no line of crontab, or never comes")

    def __str__(self) -> str:
        return f"{self.line} ({self.zone})"

    def next_after(self, time: datetime) -> datetime:
        """Return the first time after this one, in UTC."""
        found = self._find_after(time)
        if found is None:
            raise ValueError(f"{self.line!r} does not come within 50 years")
        return found

    def _find_after(self, time: datetime) -> datetime | None:
        # Imported on first use: most projects have no such job.
        cronsim = import_module("cronsim")
        try:
            found = cronsim.CronSim(self.line, time.astimezone(ZoneInfo(self.zone)))
        except (cronsim.CronSimError, AssertionError):
            return None
        # In a repeated hour, the first time that it gives may be one of the hour before.
        times = (local.astimezone(UTC) for local in found)
        return next((found for found in times if found > time), None)
