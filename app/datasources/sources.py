"""Creating the data sources of the settings, and calling them on behalf of a request."""

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import TypeVar
from urllib.parse import urlsplit

from flask import Flask, current_app

from app.access.identity import current_identity
from app.audit.entries import Action, record, record_attempt
from app.connector import (
    CallTimeoutError,
    ConfigError,
    ConnectorError,
    DataSource,
    TooManyCallsError,
    VariableError,
    without_waiting,
)
from app.database.connections import release_connection
from app.errors import RemoteError, RemoteTimeout, TooManyCalls, ValidationError
from app.observability.origin import current_request_id
from app.problems import ConfigurationError
from app.state import AppState

from . import data_sources

# The header in which calls send the request id, as in the service's own responses.
REQUEST_ID_HEADER = "X-Request-Id"
Result = TypeVar("Result")
calls_under_way = AppState[BoundedSemaphore]("limit of calls")


def create_sources(app: Flask) -> None:
    """Create every data source of DATA_SOURCES; raise ConfigurationError for invalid settings.

    No connection is opened before the first call.
    """
    defaults = {"requestIdHeader": REQUEST_ID_HEADER}
    if compatibility := app.config["COMPATIBILITY"]:
        defaults["compatibility"] = compatibility
    sources = {
        name: _make_source(name, settings, defaults)
        for name, settings in app.config["DATA_SOURCES"].items()
    }
    data_sources.set(app, sources)


def _make_source(name: str, settings: object, defaults: dict[str, str]) -> DataSource:
    if not isinstance(settings, dict):
        raise ConfigurationError(f"data source {name!r} must be an object")
    try:
        return DataSource.from_config(
            {**defaults, **settings}, name=name, request_id=current_request_id
        )
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None


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
        release_connection()
        with without_waiting():
            return send()
    except TooManyCallsError:
        raise TooManyCalls from None
    except VariableError as error:
        raise ValidationError({function: [str(error)]}) from None
    except ConnectorError as error:
        status = getattr(error, "status_code", None)
        kind, where = type(error).__name__, status or _host(error)
        current_app.logger.warning("data source %s.%s: %s %s", source, function, kind, where)
        late = isinstance(error, CallTimeoutError)
        raise (RemoteTimeout() if late else RemoteError(status)) from None
    finally:
        calls.release()


def _host(error: ConnectorError) -> str:
    """Return the host and port of the request that failed."""
    _, _, url = (error.request or "").partition(" ")
    return urlsplit(url).netloc.rpartition("@")[2]


def _record_call(source: str, function: str) -> None:
    """Record a call before it is made; records of anonymous clients are limited."""
    user_id = current_identity().user_id
    if user_id is None:
        record_attempt(Action.DATA_SOURCE_CALLED, dataSource=source, function=function)
    else:
        record(Action.DATA_SOURCE_CALLED, user_id, dataSource=source, function=function)
