"""What merged options mean for sending a request and reading its response."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .options import retry_options, timeouts


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time-outs of a call in seconds; `total` includes its retries and redirects."""

    connect: float
    read: float
    total: float


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which calls are sent again, how often, and after at most how many seconds."""

    max_attempts: int
    statuses: frozenset[int]
    methods: frozenset[str]
    max_delay: float
    respect_retry_after: bool


@dataclass(frozen=True, slots=True)
class Options:
    """How a request is sent and its response is read."""

    timeouts: Timeouts
    retry: RetryPolicy
    verify: bool | str
    certificate: str | tuple[str, str] | None
    proxies: dict[str, str]
    follow_redirects: bool
    follow_all_redirects: bool
    max_redirects: int
    max_bytes: int
    expects_json: bool
    repeat_lists: bool


def read_options(merged: Mapping[str, Any]) -> Options:
    """Turn merged options into what the sender uses; time-outs become seconds."""
    proxy = merged["proxy"]
    return Options(
        timeouts=_timeouts(merged["timeout"]),
        retry=_retry_policy(merged["retry"]),
        verify=(merged["ca"] or True) if merged["strictSSL"] else False,
        certificate=_certificate(merged["cert"], merged["key"]),
        proxies={"http": proxy, "https": proxy} if proxy else {},
        follow_redirects=merged["followRedirect"],
        follow_all_redirects=merged["followAllRedirects"],
        max_redirects=merged["maxRedirects"],
        max_bytes=merged["maxResponseBytes"],
        expects_json=merged["json"],
        repeat_lists=merged["useQuerystring"],
    )


def _timeouts(settings: Mapping[str, int]) -> Timeouts:
    values = timeouts(settings)
    return Timeouts(values["connect"] / 1000, values["read"] / 1000, values["total"] / 1000)


def _retry_policy(settings: Mapping[str, Any]) -> RetryPolicy:
    values = retry_options(settings)
    return RetryPolicy(
        max_attempts=values["maxAttempts"],
        statuses=frozenset(values["statuses"]),
        methods=frozenset(word.upper() for word in values["methods"]),
        max_delay=values["maxDelay"] / 1000,
        respect_retry_after=values["respectRetryAfter"],
    )


def _certificate(cert: str | None, key: str | None) -> str | tuple[str, str] | None:
    return (cert, key) if cert and key else cert
