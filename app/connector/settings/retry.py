"""When a call is repeated and how long to wait: never unless asked, never a POST unless asked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_FIRST_DELAY = 0.2
_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and for what a call is repeated."""

    max_attempts: int = 1
    statuses: frozenset[int] = _TRANSIENT_STATUSES
    methods: frozenset[str] = _IDEMPOTENT_METHODS
    max_delay: float = 10.0
    respect_retry_after: bool = True

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> RetryPolicy:
        """Read the `retry` object of the options."""
        return cls(
            max_attempts=settings.get("maxAttempts", 1),
            statuses=frozenset(settings.get("statuses", _TRANSIENT_STATUSES)),
            methods=frozenset(
                word.upper() for word in settings.get("methods", _IDEMPOTENT_METHODS)
            ),
            max_delay=settings.get("maxDelay", 10_000) / 1000,
            respect_retry_after=settings.get("respectRetryAfter", True),
        )

    def allows(self, method: str, attempt: int) -> bool:
        """Tell whether this attempt may be followed by another."""
        return attempt < self.max_attempts and method in self.methods

    def delay(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after an attempt, never more than the cap."""
        if retry_after is not None and self.respect_retry_after:
            return min(retry_after, self.max_delay)
        longest = min(_FIRST_DELAY * 2.0 ** min(attempt - 1, _DOUBLINGS), self.max_delay)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def read_retry_after(value: str | None) -> float | None:
    """Read a Retry-After header: seconds or a date; anything else is None."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
