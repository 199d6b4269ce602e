"""The JSON error responses for requests that gunicorn rejects."""

from flask import Response, json
from gunicorn.http import errors as gunicorn
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app.errors import error_body

HTTP_ERRORS: dict[type[Exception], type[HTTPException]] = {
    gunicorn.LimitRequestLine: exceptions.RequestURITooLarge,
    gunicorn.LimitRequestHeaders: exceptions.RequestHeaderFieldsTooLarge,
    gunicorn.ExpectationFailed: exceptions.ExpectationFailed,
    gunicorn.UnsupportedTransferCoding: exceptions.NotImplemented,
}


def to_http_error(error: Exception) -> HTTPException:
    """Return the HTTP error for one of gunicorn's or ours, without any text of the request."""
    if isinstance(error, gunicorn.ParseException):
        kind = HTTP_ERRORS.get(type(error))
        return kind() if kind else exceptions.BadRequest("The request is not valid HTTP.")
    return error if isinstance(error, HTTPException) else exceptions.InternalServerError()


def raw_response(error: HTTPException) -> bytes:
    """Return the bytes of the response to a request that could not be read."""
    response = Response(json.dumps(error_body(error)), error.code, mimetype="application/json")
    response.headers.extend(
        {
            "Connection": "close",
            "Content-Length": str(response.content_length),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
        }
    )
    return f"HTTP/1.1 {response.status}\r\n{response.headers}".encode() + bytes(response.data)
