"""Values of JSON in the forms that clients send: times, dates, numbers, decimals and UUIDs."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TypeGuard
from uuid import UUID

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
MAX_TIME_LENGTH = 100
# A decimal, by at most 40 characters; a number of JSON may have an exponent.
DECIMAL = re.compile(r"(?=.{1,40}\Z)-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def parse_time(value: object) -> datetime:
    """Read a point in time with milliseconds, dropping smaller units; raise ValueError.

    The formats are ISO 8601 (without an offset: UTC), milliseconds since 1970, RFC 2822, and
    JavaScript's `Date.toString()`.
    """
    try:
        time = _time_of(value)
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


def parse_number(value: object) -> float:
    """Read a finite number of JSON; raise ValueError."""
    if not is_number(value):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("not a number") from None
    if not isfinite(number):
        raise ValueError("not a number")
    return number


def parse_decimal(value: object) -> Decimal:
    """Read a finite decimal from text or a number; raise ValueError."""
    if not isinstance(value, str) and not is_number(value):
        raise ValueError("not a decimal")
    if isinstance(value, int) and abs(value) >= 10**40:
        raise ValueError("not a decimal")
    text = str(value)
    if not DECIMAL.fullmatch(text):
        raise ValueError("not a decimal")
    return Decimal(text)


def parse_uuid(value: object) -> UUID:
    """Read a UUID in its usual form, in any case; raise ValueError."""
    if not isinstance(value, str) or not UUID_FORM.fullmatch(value):
        raise ValueError("not a UUID")
    return UUID(value)


def is_number(value: object) -> TypeGuard[float]:
    """Return True if a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _time_of(value: object) -> datetime:
    if isinstance(value, str) and MILLISECONDS.fullmatch(value):
        value = int(value)
    if is_number(value):
        return EPOCH + timedelta(milliseconds=int(value))
    if not isinstance(value, str) or len(value) > MAX_TIME_LENGTH:
        raise ValueError("not a time")
    time = _time_from_text(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _time_from_text(text: str) -> datetime:
    if match := JAVASCRIPT.fullmatch(text):
        return datetime.strptime(f"{match[1]} {match[2]}", "%b %d %Y %H:%M:%S %z")
    if text[:4].isdigit():
        return datetime.fromisoformat(text)
    return parsedate_to_datetime(text)
