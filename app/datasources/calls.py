"""Calls of remote services on behalf of a request."""

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import TypeVar

from flask import Flask, current_app

from app.access.identity import current_identity
from app.audit.entries import Action, record, record_attempt
from app.connector import (
    CallTimeoutError,
    ConnectorError,
    TooManyCallsError,
    VariableError,
    without_waiting,
)
from app.database import pool
from app.errors import RemoteError, RemoteTimeout, TooManyCalls, ValidationError
from app.state import AppState

Result = TypeVar("Result")

calls_under_way = AppState[BoundedSemaphore]("limit of calls")


def limit_calls(app: Flask) -> None:
    """Limit concurrent calls, so that slow services leave threads for requests."""
    limit = app.config["DATA_SOURCE_CALLS"] or max(1, app.config["THREADS"] // 2)
    calls_under_way.set(app, BoundedSemaphore(limit))


def call_remote(source: str, function: str, send: Callable[[], Result]) -> Result:
    """Call the remote service; raise a service error for a failure, without the remote's content.

    A call never waits for a free place of the data source, as slow services would then occupy all
    threads.
    """
    calls = calls_under_way.current
    if not calls.acquire(blocking=False):
        raise TooManyCalls
    try:
        _record_call(source, function)
        pool.release()
        with without_waiting():
            return send()
    except TooManyCallsError:
        raise TooManyCalls from None
    except VariableError as error:
        raise ValidationError({function: [str(error)]}) from None
    except ConnectorError as error:
        status = getattr(error, "status_code", None)
        kind = type(error).__name__
        current_app.logger.warning("data source %s.%s: %s %s", source, function, kind, status)
        late = isinstance(error, CallTimeoutError)
        raise (RemoteTimeout() if late else RemoteError(status)) from None
    finally:
        calls.release()


def _record_call(source: str, function: str) -> None:
    """Record a call before it is made; records of anonymous clients are limited."""
    user_id = current_identity().user_id
    if user_id is None:
        record_attempt(Action.DATA_SOURCE_CALLED, dataSource=source, function=function)
    else:
        record(Action.DATA_SOURCE_CALLED, user_id, dataSource=source, function=function)
