"""One call on its way: the context that hooks see, and the order of what happens to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from blinker import Signal
from requests.structures import CaseInsensitiveDict

from app.connector.errors import (
    CallTimeoutError,
    ConnectError,
    ConnectorError,
)
from app.connector.request.body import read_files
from app.connector.request.model import Request, serialize_headers
from app.connector.response import Response
from app.connector.settings.call_options import Options

from .auth import ClientCredentials
from .decoding import read_body
from .failures import describe_error, error_for_status
from .retry import retry_delay
from .transport import RawResponse, Transport

logger = logging.getLogger("app.connector")

_extra_headers: ContextVar[tuple[tuple[object, Mapping[str, Any]], ...]] = ContextVar(
    "extra_headers", default=()
)


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
    sent: list[Request] = field(default_factory=list)

    def end(self, result: Any) -> None:
        """Answer with this result: without a call before it, instead of its outcome after it."""
        self.result = result
        self.error = None
        self.is_ended = True

    def __repr__(self) -> str:
        return f"<Call {self.operation}: {self.request}>"


class Client:
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
        if self.before_execute.receivers:
            self._send_signal(self.before_execute, call)
            call.request.headers = CaseInsensitiveDict(serialize_headers(call.request.headers))
        if call.is_ended:
            return
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
                call.request.headers.update(serialize_headers(headers))

    def _send_signal(self, signal: Signal, call: Call) -> None:
        if signal.receivers:
            signal.send(self.owner, ctx=call)

    def _exchange(self, call: Call) -> None:
        call.request.files = read_files(call.request.files)
        raw = self._send(call)
        body = read_body(
            raw.content,
            raw.headers,
            raw.status_code,
            expects_json=call.options.expects_json,
        )
        response = Response(raw.status_code, raw.headers, body, raw.reason)
        call.response = response
        call.error = error_for_status(response, call.options)
        if call.error is None:
            call.result = call.read(response)

    def _send(self, call: Call) -> RawResponse:
        deadline = time.monotonic() + call.options.timeouts.total
        while True:
            call.attempt += 1
            outcome = self._attempt(call, deadline)
            wait = retry_delay(call.options.retry, call.request.method, call.attempt, outcome)
            if wait is None or time.monotonic() + wait >= deadline:
                break
            time.sleep(wait)
        if isinstance(outcome, ConnectorError):
            raise outcome
        return outcome

    def _attempt(self, call: Call, deadline: float) -> RawResponse | ConnectorError:
        try:
            raw, sent = self._send_authorized(call, deadline)
            if raw.status_code == 401 and _invalidate_token(call.request, sent, deadline):
                raw, _ = self._send_authorized(call, deadline)
        except (ConnectError, CallTimeoutError) as error:
            return error
        return raw

    def _send_authorized(self, call: Call, deadline: float) -> tuple[RawResponse, Request]:
        request = call.request.copy()
        if request.auth is not None:
            request.auth.apply(request, deadline)
        call.sent.append(request)
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
        secrets = [secret for sent in call.sent for secret in sent.all_secrets()]
        describe_error(error, call.operation, call.request, secrets)
        self._send_signal(self.execute_failed, call)
        if call.error is not None:
            raise error


def _invalidate_token(request: Request, sent: Request, deadline: float) -> bool:
    if not isinstance(request.auth, ClientCredentials) or "Authorization" in request.headers:
        return False
    request.auth.forget(sent, deadline)
    return True
