"""Which calls are retried, and the delay before a retry."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from .errors import ConnectorError, TransportError
from .response import RawResponse

# The statuses and methods of calls that are retried, unless the settings name others; the methods
# are the idempotent ones of RFC 9110, section 9.2.2.
RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
RETRIED_METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")
# Seconds before the first retry, doubled before each further one.
_FIRST_DELAY = 0.2
_MAX_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which calls are retried, how often, and the maximum delay in seconds."""

    max_attempts: int
    statuses: frozenset[int]
    methods: frozenset[str]
    max_delay: float
    respect_retry_after: bool


def retry_delay(
    policy: RetryPolicy, method: str, attempt: int, outcome: RawResponse | ConnectorError
) -> float | None:
    """Return the seconds before the next attempt, or None if there is none."""
    if attempt >= policy.max_attempts or method not in policy.methods:
        return None
    if isinstance(outcome, TransportError):
        return backoff(policy, attempt, None)
    if isinstance(outcome, RawResponse) and outcome.status_code in policy.statuses:
        return backoff(policy, attempt, read_retry_after(outcome.headers.get("Retry-After")))
    return None


def backoff(policy: RetryPolicy, attempt: int, retry_after: float | None) -> float:
    """Return the seconds to wait after an attempt, at most `maxDelay`."""
    if retry_after is not None and policy.respect_retry_after:
        return min(retry_after, policy.max_delay)
    longest = min(_FIRST_DELAY * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), policy.max_delay)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, not a secret


def read_retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it cannot be read."""
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
