"""Calls of data source functions by requests, and the responses with their results."""

from base64 import b64encode
from collections.abc import Callable

from flask import Response as HttpResponse
from flask import jsonify, make_response

from app.connector import Operation, Response, VariableError
from app.connector.errors import MissingVariableError
from app.connector.types import JsonObject, JsonValue
from app.errors import BLANK, RemoteError, ValidationError

from .sources import call_remote


def call_function(source: str, operation: Operation, values: JsonObject) -> JsonValue:
    """Call a function of a data source with these arguments.

    Raises ValidationError, which names all invalid arguments, and the errors of `call_remote`.
    """
    _validate(operation, values)
    return call_remote(source, operation.name, lambda: operation(**values))


def respond(operation: Operation, result: JsonValue) -> HttpResponse:
    """Return the response with a result: bytes as they are, anything else as JSON.

    Bytes in a full response are base64. Raises RemoteError for a result that cannot be written as
    JSON, or is larger than `maxResponseBytes`.
    """
    if not isinstance(result, bytes):
        return _bounded(operation, lambda: jsonify(_plain(result)))
    response = _bounded(operation, lambda: make_response(result))
    response.mimetype = "application/octet-stream"
    return response


def respond_with_result(operation: Operation, result: JsonValue) -> HttpResponse:
    """Return the response with `{"result": ...}`, bytes as base64; raises the same errors."""
    text = _as_text(result) if isinstance(result, bytes) else _plain(result)
    return _bounded(operation, lambda: jsonify({"result": text}))


def _plain(result: JsonValue) -> JsonValue:
    """Return a full response as an object; anything else unchanged."""
    if not isinstance(result, Response):
        return result
    body = result.body
    return {
        "statusCode": result.status_code,
        "body": _as_text(body) if isinstance(body, bytes) else body,
    }


def _as_text(data: bytes) -> str:
    return b64encode(data).decode()


def _bounded(operation: Operation, make: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        response = make()
    except (RecursionError, TypeError, ValueError):
        raise RemoteError() from None
    if (response.content_length or 0) > operation.max_bytes:
        raise RemoteError()
    return response


def _validate(operation: Operation, values: JsonObject) -> None:
    """Raise ValidationError, which names all invalid arguments."""
    problems = {}
    for name in operation.parameters:
        try:
            operation.variables[name].resolve(values.get(name))
        except MissingVariableError:
            problems[name] = [BLANK]
        except VariableError as error:
            problems[name] = [str(error)]
    if problems:
        raise ValidationError(problems)
