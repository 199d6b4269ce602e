"""Points in time and dates in the formats that clients send."""

import re
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

from app.times import in_milliseconds

# JavaScript's `Date.toString()`: Fri Nov 20 2026 10:00:00 GMT+0100 (Central European Time).
JAVASCRIPT = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2} [0-9]{2} [0-9]{4} [0-9:]{8}) GMT([+-][0-9]{4})( \(.*\))?",
    re.ASCII,
)
# Fewer digits may be a year, or a date without hyphens.
MILLISECONDS = re.compile(r"-?[0-9]{11,15}", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A day from the limits of Python's datetime, because drivers convert to other time zones.
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
#: Maximum characters of a time; the longest format has a time zone's name in brackets.
MAX_LENGTH = 100


def parse_time(value: object) -> datetime:
    """Read a point in time with milliseconds, dropping smaller units; raise ValueError.

    The formats are ISO 8601 (without an offset: UTC), milliseconds since 1970, RFC 2822, and
    JavaScript's `Date.toString()`.
    """
    try:
        time = _read(value)
    except OverflowError:
        raise ValueError("out of range") from None
    if not FIRST <= time <= LAST:
        raise ValueError("out of range")
    return in_milliseconds(time)


def parse_date(value: object) -> date:
    """Read a date such as `2026-01-02`; raise ValueError."""
    if not isinstance(value, str) or len(value) != len("2026-01-02"):
        raise ValueError("not a date")
    return date.fromisoformat(value)


def _read(value: object) -> datetime:
    if isinstance(value, str) and MILLISECONDS.fullmatch(value):
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return EPOCH + timedelta(milliseconds=int(value))
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        raise ValueError("not a time")
    time = _from_text(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _from_text(text: str) -> datetime:
    if match := JAVASCRIPT.fullmatch(text):
        return datetime.strptime(f"{match[1]} {match[2]}", "%b %d %Y %H:%M:%S %z")
    if text[:4].isdigit():
        return datetime.fromisoformat(text)
    return parsedate_to_datetime(text)
