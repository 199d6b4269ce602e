"""One call on its way: the context that hooks see, and the order of what happens to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from blinker import Signal

from .auth import ClientCredentials
from .errors import (
    CallTimeoutError,
    ConnectError,
    ConnectorError,
    HTTPStatusError,
    ResponseDecodeError,
    TransportError,
    status_error,
)
from .options import Options
from .redact import Redactor
from .request import Request, header_entries
from .response import Response, read_body, remote_message
from .retry import read_retry_after
from .transport import Answer, Transport

logger = logging.getLogger("app.connector")

_extra_headers: ContextVar[tuple[tuple[object, Mapping[str, Any]], ...]] = ContextVar(
    "extra_headers", default=()
)
_SCANNED = 10_000
_SHOWN = 300
_MOVED = frozenset({301, 302, 303, 307, 308})


@dataclass(repr=False)
class Call:
    """What a hook gets: the request may be changed before, the result at any time."""

    operation: str
    request: Request
    options: Options
    read: Callable[[Response], Any]
    response: Response | None = None
    result: Any = None
    error: ConnectorError | None = None
    attempt: int = 0
    elapsed: float = 0.0
    is_ended: bool = False

    def end(self, result: Any) -> None:
        """Answer with this result: without a call before it, instead of its outcome after it."""
        self.result = result
        self.error = None
        self.is_ended = True

    def __repr__(self) -> str:
        return f"<Call {self.operation}: {self.request}>"


class Calls:
    """Carries out the calls of one data source and tells its signals about them."""

    def __init__(self, owner: object, transport: Transport, *, debug: bool = False) -> None:
        self.owner = owner
        self.transport = transport
        self.debug = debug
        self.before_execute = Signal()
        self.after_execute = Signal()
        self.execute_failed = Signal()

    def execute(self, call: Call) -> None:
        """Send a call with its hooks; it then holds the result, or its error is raised."""
        self._add_extra_headers(call)
        self._tell(self.before_execute, call)
        if call.is_ended:
            return
        started = time.perf_counter()
        try:
            self._exchange(call)
        except ConnectorError as error:
            call.error = error
        call.elapsed = time.perf_counter() - started
        if call.response is not None:
            self._tell(self.after_execute, call)
        if self.debug:
            self._log(call)
        if call.error is not None:
            self._fail(call, call.error)

    @contextmanager
    def with_headers(self, headers: Mapping[str, Any]) -> Iterator[None]:
        """Add headers to every call of this data source made inside the block."""
        scope = _extra_headers.set((*_extra_headers.get(), (self, headers)))
        try:
            yield
        finally:
            _extra_headers.reset(scope)

    def _add_extra_headers(self, call: Call) -> None:
        for owner, headers in _extra_headers.get():
            if owner is self:
                call.request.headers.update(header_entries(headers))

    def _tell(self, signal: Signal, call: Call) -> None:
        if signal.receivers:
            signal.send(self.owner, ctx=call)

    def _exchange(self, call: Call) -> None:
        answer = self._send(call)
        body = read_body(
            answer.content,
            answer.headers,
            answer.status_code,
            reads_json=call.options.reads_json,
        )
        response = Response(answer.status_code, answer.headers, body, answer.reason)
        call.response = response
        if _is_failure(response, call.options):
            call.error = _status_failure(response)
        else:
            call.result = call.read(response)

    def _send(self, call: Call) -> Answer:
        deadline = time.monotonic() + call.options.timeouts.total
        while True:
            call.attempt += 1
            outcome = self._attempt(call, deadline)
            wait = _wait(call, outcome)
            if wait is None or time.monotonic() + wait >= deadline:
                break
            time.sleep(wait)
        if isinstance(outcome, ConnectorError):
            raise outcome
        return outcome

    def _attempt(self, call: Call, deadline: float) -> Answer | ConnectorError:
        try:
            answer, sent = self._send_authorised(call, deadline)
            if answer.status_code == 401 and _forgets_token(call.request, sent):
                answer, _ = self._send_authorised(call, deadline)
        except (ConnectError, CallTimeoutError) as error:
            return error
        return answer

    def _send_authorised(self, call: Call, deadline: float) -> tuple[Answer, Request]:
        request = call.request.copy()
        if request.auth is not None:
            request.auth.apply(request, deadline)
        return self.transport.send(request, call.options, deadline), request

    def _log(self, call: Call) -> None:
        status = call.response.status_code if call.response else type(call.error).__name__
        milliseconds = round(call.elapsed * 1000)
        logger.debug(
            "%s: %s %s %d ms attempt %d",
            call.operation,
            call.request,
            status,
            milliseconds,
            call.attempt,
        )

    def _fail(self, call: Call, error: ConnectorError) -> None:
        redactor = call.request.full_redactor()
        words = _shortened(redactor, str(error))
        error.operation = call.operation
        error.request = str(call.request)
        error.args = (f"{call.operation}: {error.request}: {words}",)
        if isinstance(error, ResponseDecodeError):
            error.text = _shortened(redactor, error.text)
        self._tell(self.execute_failed, call)
        if call.error is not None:
            raise error


def _shortened(redactor: Redactor, text: str) -> str:
    # Masked before it is cut, so that no half of a secret is left at the end.
    return " ".join(redactor.text(text[:_SCANNED]).split())[:_SHOWN]


def _is_failure(response: Response, options: Options) -> bool:
    status = response.status_code
    return status >= 400 or (status in _MOVED and options.follows)


def _status_failure(response: Response) -> HTTPStatusError:
    words = remote_message(response)
    message = f"{response.status_code} {response.reason}".strip()
    retry_after = read_retry_after(response.headers.get("Retry-After"))
    make = status_error(response.status_code)
    return make(f"{message}: {words}" if words else message, response, retry_after)


def _forgets_token(request: Request, sent: Request) -> bool:
    if not isinstance(request.auth, ClientCredentials) or "Authorization" in request.headers:
        return False
    request.auth.forget(sent)
    return True


def _wait(call: Call, outcome: Answer | ConnectorError) -> float | None:
    policy = call.options.retry
    if not policy.allows(call.request.method, call.attempt):
        return None
    if isinstance(outcome, TransportError):
        return policy.delay(call.attempt, None)
    if isinstance(outcome, Answer) and outcome.status_code in policy.statuses:
        retry_after = read_retry_after(outcome.headers.get("Retry-After"))
        return policy.delay(call.attempt, retry_after)
    return None
