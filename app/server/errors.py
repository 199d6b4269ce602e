"""JSON error responses for requests that gunicorn rejects."""

from datetime import UTC, datetime
from traceback import format_tb

from flask import Response, json
from gunicorn.glogging import Logger
from gunicorn.http import errors as gunicorn
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app.error_responses import error_body, error_headers
from app.http.responses import SECURITY_HEADERS, new_request_id

from .connection import ClientConnection

HTTP_ERRORS: dict[type[Exception], type[HTTPException]] = {
    gunicorn.LimitRequestLine: exceptions.RequestURITooLarge,
    gunicorn.LimitRequestHeaders: exceptions.RequestHeaderFieldsTooLarge,
    gunicorn.ExpectationFailed: exceptions.ExpectationFailed,
    gunicorn.UnsupportedTransferCoding: exceptions.NotImplemented,
}

# gunicorn's errors caused by the app's response, which are subclasses of request errors.
OF_ANSWERS = gunicorn.InvalidResponseHeader, gunicorn.InvalidResponseHeaderName


def is_of_request(error: Exception) -> bool:
    """Return True for an error of gunicorn or the service that a request has caused."""
    is_known = isinstance(error, gunicorn.ParseException | HTTPException)
    return is_known and not isinstance(error, OF_ANSWERS)


def to_http_error(error: Exception) -> HTTPException:
    """Return the HTTP error for such an error, without any text of the request."""
    if not is_of_request(error):
        return exceptions.InternalServerError()
    if isinstance(error, HTTPException):
        return error
    kind = HTTP_ERRORS.get(type(error))
    return kind() if kind else exceptions.BadRequest("The request is not valid HTTP.")


def raw_response(error: HTTPException, request_id: str) -> tuple[bytes, bytes]:
    """Return the headers and body of the response to an unreadable request."""
    response = Response(json.dumps(error_body(error)), error.code, mimetype="application/json")
    response.date = datetime.now(UTC)
    response.headers.extend(error_headers(error))
    response.headers.extend(
        [
            ("Connection", "close"),
            ("X-Request-Id", request_id),
            *SECURITY_HEADERS,
            ("Cache-Control", "no-store"),
        ]
    )
    return f"HTTP/1.1 {response.status}\r\n{response.headers}".encode(), response.data


def send_error(conn: ClientConnection, error: Exception, log: Logger) -> None:
    """Answer with a JSON error; log only the error's type, as its text quotes the request.

    An error in the service's code is logged with its traceback.
    """
    answer, request_id = to_http_error(error), new_request_id()
    kind = f"{answer.code} {type(error).__name__}"
    log.warning(
        "refused a request of %s: %s %s",
        *(conn.host, kind, request_id),
        extra={"request_id": request_id},
    )
    if not is_of_request(error):
        log.error("".join(format_tb(error.__traceback__)))
    head, body = raw_response(answer, request_id)
    conn.send(head if conn.incoming.is_head else head + body)
