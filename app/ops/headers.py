"""What every response carries: a request id, and headers that keep secrets out of caches."""

import re
from uuid import uuid4

from flask import Flask, Response, g, request

# Ids we take over from a caller or a proxy: short, and harmless in a log line.
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def init_app(app: Flask) -> None:
    """Name every request and complete every response."""
    app.before_request(_name_request)
    app.after_request(_complete)


def _name_request() -> None:
    given = request.headers.get("X-Request-Id", "")
    g.request_id = given if SANE_REQUEST_ID.fullmatch(given) else uuid4().hex


def _complete(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers.setdefault("Cache-Control", "no-store")
    return response
