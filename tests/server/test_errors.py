"""The answers to requests that gunicorn rejects."""

import json

import pytest
from gunicorn.http import errors

from app.server.errors import raw_response, to_http_error

SECRET = "planted-secret"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidHeader(SECRET), 400),
        (errors.InvalidRequestLine(SECRET), 400),
        (errors.InvalidChunkSize(SECRET), 400),
        (errors.LimitRequestLine(9, 8), 414),
        (errors.LimitRequestHeaders(SECRET), 431),
        (errors.ExpectationFailed(SECRET), 417),
        (errors.UnsupportedTransferCoding(SECRET), 501),
        (ValueError(SECRET), 500),
    ],
)
def test_an_error_is_answered_without_its_text(error, status):
    head, _, body = raw_response(to_http_error(error)).partition(b"\r\n\r\n")

    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nConnection: close\r\n" in head
    assert f"\r\nContent-Length: {len(body)}\r\n".encode() in head
    assert json.loads(body)["status"] == status
    assert SECRET.encode() not in head + body
