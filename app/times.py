"""Time in UTC, in milliseconds as JSON has it."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time in UTC, truncated to milliseconds as in JSON."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def iso_time(time: datetime) -> str:
    """Return a time in UTC as ISO 8601 with milliseconds: `2026-01-02T03:04:05.678Z`."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
