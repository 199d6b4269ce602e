"""Executing a call: hooks, credentials, the limit of concurrent calls, retries, and its result."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from blinker import Signal
from requests.structures import CaseInsensitiveDict

from app.connector.errors import (
    CallTimeoutError,
    ConnectError,
    ConnectorError,
    TooManyCallsError,
    TransportError,
)
from app.connector.request.encoding import read_files, serialize_headers
from app.connector.request.request import Request, SourceContext
from app.connector.settings.options import CallOptions, RetryPolicy, read_options
from app.connector.types import JsonValue, RawResponse, Response, Values, alias

from .responses import decode_body, describe_error, error_for_status, read_retry_after
from .transport import Transport

# Returns the id of the current request, if there is one.
RequestId = Callable[[], str | None]
_waits: ContextVar[bool] = ContextVar("waits", default=True)
logger = logging.getLogger("app.connector")
_extra_headers: ContextVar[tuple[tuple[object, Values], ...]] = ContextVar(
    "extra_headers", default=()
)
# Seconds before the first retry, doubled before each further one.
_FIRST_DELAY = 0.2
_MAX_DOUBLINGS = 20


@dataclass(repr=False)
class Call:
    """A call: hooks may change its request before it is sent, and its result afterwards.

    >>> def add_tenant(source, ctx: Call):
    ...     ctx.request.headers["x-tenant"] = "t1"
    >>> source.before_execute.connect(add_tenant)

    `select` turns the response into the result; `sent` lists the requests with credentials that
    were sent, one for each attempt; `elapsed` is in seconds.
    """

    operation: str
    request: Request
    options: CallOptions
    select: Callable[[Response], JsonValue]
    response: Response | None = None
    result: JsonValue = None
    error: ConnectorError | None = None
    attempt: int = 0
    elapsed: float = 0.0
    is_ended: bool = False
    sent: list[Request] = field(default_factory=list)

    req = alias("request")
    res = alias("response")

    def end(self, result: JsonValue) -> None:
        """Use this as the result: nothing is sent after that, and no error is raised."""
        self.result = result
        self.error = None
        self.is_ended = True

    def __repr__(self) -> str:
        return f"<Call {self.operation}: {self.request}>"


class CallLimit:
    """A limit of `pool.maxConcurrent` concurrent calls; None is no limit."""

    def __init__(self, places: int | None) -> None:
        self._count = places
        self._places = threading.Semaphore(places or 0)

    @contextmanager
    def place(self, deadline: float) -> Iterator[None]:
        """Hold a place; wait for one until the call's deadline, then raise TooManyCallsError."""
        if self._count is None:
            yield
            return
        patience = max(0.0, deadline - time.monotonic()) if _waits.get() else 0.0
        if not self._places.acquire(timeout=patience):
            raise TooManyCallsError(f"{self._count} other calls are under way")
        try:
            yield
        finally:
            self._places.release()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Raise TooManyCallsError at once for calls in the block that would wait for a place.

    >>> with without_waiting():
    ...     source.orders()
    """
    scope = _waits.set(False)
    try:
        yield
    finally:
        _waits.reset(scope)


class HttpClient:
    """Executes the calls of one data source and sends its signals."""

    def __init__(
        self,
        owner: object,
        transport: Transport,
        context: SourceContext,
        limit: CallLimit,
        *,
        debug: bool = False,
    ) -> None:
        self.owner = owner
        self.transport = transport
        self.limit = limit
        self.debug = debug
        self.before_execute = Signal()
        self.after_execute = Signal()
        self.execute_failed = Signal()
        self._context = context
        self._token_options = read_options(context.options)

    def execute(self, call: Call) -> Call:
        """Send the request of a call and return the call with its result; raise its error."""
        self._add_extra_headers(call)
        if self.before_execute.receivers:
            self._run_before_hooks(call)
        if call.is_ended:
            return call
        started = time.perf_counter()
        try:
            self._exchange(call)
        except ConnectorError as error:
            call.error = error
        call.elapsed = time.perf_counter() - started
        if call.response is not None:
            self._send_signal(self.after_execute, call)
        if self.debug:
            self._log(call)
        if call.error is not None:
            self._fail(call, call.error)
        return call

    def _run_before_hooks(self, call: Call) -> None:
        known = call.request.headers
        self._send_signal(self.before_execute, call)
        changed = call.request.headers
        kept = {} if changed is known else call.request.defaults
        call.request.headers = CaseInsensitiveDict(kept)
        call.request.headers.update(serialize_headers(changed))

    @contextmanager
    def with_headers(self, headers: Values) -> Iterator[None]:
        """Add headers to every call of this data source made inside the block."""
        scope = _extra_headers.set((*_extra_headers.get(), (self, headers)))
        try:
            yield
        finally:
            _extra_headers.reset(scope)

    def send_request_ids(self, header: str, request_id: RequestId) -> None:
        """Send the id of the current request in a header of every call that does not set it."""

        def add(_sender: object, ctx: Call) -> None:
            if value := request_id():
                ctx.request.headers.setdefault(header, value)

        self.before_execute.connect(add, weak=False)

    def _add_extra_headers(self, call: Call) -> None:
        for owner, headers in _extra_headers.get():
            if owner is self:
                call.request.headers.update(serialize_headers(headers))

    def _send_signal(self, signal: Signal, call: Call) -> None:
        if signal.receivers:
            signal.send(self.owner, ctx=call)

    def _exchange(self, call: Call) -> None:
        call.request.files = read_files(call.request.files)
        deadline = time.monotonic() + call.options.total_timeout
        with self.limit.place(deadline):
            raw = self._send_with_retries(call, deadline)
        options = call.options
        body = decode_body(raw, expects_json=options.expects_json, max_values=options.max_values)
        call.response = Response(raw.status_code, raw.headers, body, raw.reason)
        call.error = error_for_status(call.response, call.options)
        if call.error is None:
            call.result = call.select(call.response)

    def _send_with_retries(self, call: Call, deadline: float) -> RawResponse:
        outcome: RawResponse | ConnectorError
        while True:
            call.attempt += 1
            try:
                outcome = self._send_authorized(call, deadline)
            except (ConnectError, CallTimeoutError) as error:
                outcome = error
            wait = _retry_delay(call.options.retry, call.request.method, call.attempt, outcome)
            if wait is None or time.monotonic() + wait >= deadline:
                break
            time.sleep(wait)
        if isinstance(outcome, ConnectorError):
            raise outcome
        return outcome

    def _send_authorized(self, call: Call, deadline: float) -> RawResponse:
        auth = call.request.auth
        if auth is None:
            return self._send(call, deadline)
        auth.refresh(call.request, self._fetch_token, deadline)
        raw = self._send(call, deadline)
        if raw.status_code != 401:
            return raw
        if auth.refresh(call.request, self._fetch_token, deadline, rejected=call.sent[-1]):
            raw = self._send(call, deadline)
        return raw

    def _send(self, call: Call, deadline: float) -> RawResponse:
        request = call.request.copy()
        if request.auth is not None:
            request.auth.apply(request)
        call.sent.append(request)
        return self.transport.send(request, call.options, deadline)

    def _fetch_token(self, request: Request, deadline: float) -> RawResponse:
        request.redactor = self._context.redactor
        return self.transport.send(request, self._token_options, deadline)

    def _log(self, call: Call) -> None:
        status = call.response.status_code if call.response else type(call.error).__name__
        what = (call.operation, call.request, status, round(call.elapsed * 1000), call.attempt)
        logger.debug("%s: %s %s %d ms attempt %d", *what)

    def _fail(self, call: Call, error: ConnectorError) -> None:
        # Sending adds credentials to this copy; the body, which may be large, is shared.
        secrets = [secret for sent in call.sent for secret in sent.credentials()]
        describe_error(error, call.operation, call.request, secrets)
        self._send_signal(self.execute_failed, call)
        if call.error is not None:
            raise error


def _retry_delay(
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
