"""The options of one call: how its request is sent and its response is read."""

from dataclasses import dataclass

from app.connector.types import Settings

from .options import options_in_effect


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which calls are retried, how often, and the maximum delay in seconds."""

    max_attempts: int
    statuses: frozenset[int]
    methods: frozenset[str]
    max_delay: float
    respect_retry_after: bool


@dataclass(frozen=True, slots=True)
class Options:
    """How a request is sent and its response is read; time-outs are in seconds.

    `total_timeout` includes the retries and redirects of a call.
    """

    connect_timeout: float
    read_timeout: float
    total_timeout: float
    retry: RetryPolicy
    verify: bool | str
    certificate: str | tuple[str, str] | None
    proxies: dict[str, str]
    follow_redirects: bool
    follow_all_redirects: bool
    max_redirects: int
    max_bytes: int
    max_values: int | None
    expects_json: bool
    repeat_lists: bool


def read_options(merged: Settings) -> Options:
    """Return the options of a call from merged ones; time-outs are converted to seconds."""
    options = options_in_effect(merged)
    proxy, cert, key = options["proxy"], options["cert"], options["key"]
    return Options(
        connect_timeout=options["timeout.connect"] / 1000,
        read_timeout=options["timeout.read"] / 1000,
        total_timeout=options["timeout.total"] / 1000,
        retry=RetryPolicy(
            max_attempts=options["retry.maxAttempts"],
            statuses=frozenset(options["retry.statuses"]),
            methods=frozenset(word.upper() for word in options["retry.methods"]),
            max_delay=options["retry.maxDelay"] / 1000,
            respect_retry_after=options["retry.respectRetryAfter"],
        ),
        verify=(options["ca"] or True) if options["strictSSL"] else False,
        certificate=(cert, key) if cert and key else cert,
        proxies={"http": proxy, "https": proxy} if proxy else {},
        follow_redirects=options["followRedirect"],
        follow_all_redirects=options["followAllRedirects"],
        max_redirects=options["maxRedirects"],
        max_bytes=options["maxResponseBytes"],
        max_values=options["maxResponseValues"],
        expects_json=options["json"],
        repeat_lists=options["useQuerystring"],
    )
