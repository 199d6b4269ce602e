"""What clients get for requests that gunicorn refuses: our errors, in their one shape."""

from flask import Flask, Response, json
from gunicorn.http import errors as gunicorn
from werkzeug import exceptions
from werkzeug.exceptions import HTTPException

from app.errors import error_body, render

REFUSALS: dict[type[Exception], type[HTTPException]] = {
    gunicorn.LimitRequestLine: exceptions.RequestURITooLarge,
    gunicorn.LimitRequestHeaders: exceptions.RequestHeaderFieldsTooLarge,
    gunicorn.ExpectationFailed: exceptions.ExpectationFailed,
    gunicorn.UnsupportedTransferCoding: exceptions.NotImplemented,
}


def init_app(app: Flask) -> None:
    """Refuse a body whose chunks turn out to be malformed while the app reads it."""
    app.register_error_handler(gunicorn.ParseException, lambda error: render(refusal(error)))


def refusal(error: Exception) -> HTTPException:
    """Return our error for one of gunicorn's, without what the client sent."""
    if isinstance(error, gunicorn.ParseException):
        kind = REFUSALS.get(type(error))
        return kind() if kind else exceptions.BadRequest("The request is not valid HTTP.")
    return exceptions.InternalServerError()


def raw_response(error: HTTPException) -> bytes:
    """Write the answer to a request that could not be read; the connection ends with it."""
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
