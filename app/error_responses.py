"""The responses to errors: the handlers that render every error as JSON."""

from collections.abc import Iterator
from typing import Any

import marshmallow
from flask import Flask, Response, current_app, jsonify, request
from sqlalchemy.exc import DataError, SQLAlchemyError
from werkzeug.exceptions import BadRequest, HTTPException

from app.database.faults import error_code, is_timeout

from .errors import DatabaseTimeout, TemporarilyUnavailable, ValidationError

# Codes that differ from the name of the status.
STATUS_CODES = {413: "PAYLOAD_TOO_LARGE"}


def init_app(app: Flask) -> None:
    """Register the error handlers."""
    app.log_exception = _log_exception  # type: ignore[method-assign]
    app.register_error_handler(HTTPException, error_response)
    app.register_error_handler(marshmallow.ValidationError, _handle_validation_error)
    app.register_error_handler(DataError, _handle_data_error)
    app.register_error_handler(SQLAlchemyError, _handle_database_error)


def error_response(error: HTTPException) -> Response:
    """Answer with `{"status", "message", "error": {...}}`, and keep the error's own headers."""
    response = jsonify(error_body(error))
    response.status_code = error.code or 500
    response.headers.extend(error_headers(error))
    challenge = getattr(error, "challenge", "Bearer" if response.status_code == 401 else None)
    if challenge:
        response.headers["WWW-Authenticate"] = challenge
    return response


def error_headers(error: HTTPException) -> dict[str, str]:
    """Return the headers of an error itself, such as `Retry-After`."""
    return {name: value for name, value in error.get_headers() if name != "Content-Type"}


def error_body(error: HTTPException) -> dict[str, Any]:
    """Return the JSON object of an error."""
    status = error.code or 500
    message = _message(error, status)
    inner = {
        "statusCode": status,
        "name": getattr(error, "error_name", error.name.replace(" ", "")),
        "code": _code(error, status),
        "message": message,
        "details": getattr(error, "details", None),
    }
    inner = {name: value for name, value in inner.items() if value is not None}
    return {"status": status, "message": message, "error": inner}


def _code(error: HTTPException, status: int) -> str | None:
    """Return the error's own code, else its status's name; other 5xx have none."""
    if code := getattr(error, "error_code", None):
        return str(code)
    if status >= 500:
        return None
    return STATUS_CODES.get(status, error.name.upper().replace(" ", "_"))


def _message(error: HTTPException, status: int) -> str:
    if status >= 500 and not hasattr(error, "error_code"):
        return error.name
    return error.description or error.name


def to_validation_error(error: marshmallow.ValidationError) -> ValidationError:
    """Return the service's ValidationError for marshmallow's."""
    return ValidationError(dict(_flatten(error.messages_dict)))


def _handle_validation_error(error: marshmallow.ValidationError) -> Response:
    return error_response(to_validation_error(error))


def _flatten(messages: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the messages of each field with its path: `title`, or `2.title` in an array."""
    if isinstance(messages, dict):
        for step, inner in messages.items():
            yield from _flatten(inner, f"{path}.{step}" if path else str(step))
    else:
        yield path, list(messages)


def _handle_data_error(error: DataError) -> Response:
    """Answer 400: a value is valid for its schema but out of range for its column."""
    return error_response(BadRequest("A value is outside of what its column holds."))


def _log_exception(exc_info: Any) -> None:
    """Log an unexpected error without the request's path, which may contain a token."""
    current_app.logger.error("failed to answer %s", request.endpoint, exc_info=exc_info)


def _handle_database_error(error: SQLAlchemyError) -> Response:
    """Log only the type and code of the error, because its text may quote values; answer 503."""
    name, code = type(error).__name__, error_code(error) or ""
    current_app.logger.error("the database failed: %s %s", name, code)
    return error_response(DatabaseTimeout() if is_timeout(error) else TemporarilyUnavailable())
