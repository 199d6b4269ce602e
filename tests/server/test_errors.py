"""The answers to requests that gunicorn rejects."""

import json

import pytest
from gunicorn.http import errors

from app.server.errors import raw_response, to_http_error
from tests.support.raw_answers import read_answer

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
        # Of an answer of the app, though gunicorn's names are those for requests.
        (errors.InvalidResponseHeader(SECRET), 500),
        (errors.InvalidResponseHeaderName(SECRET), 500),
    ],
)
def test_an_error_is_answered_without_its_text(error, status):
    response = b"".join(raw_response(to_http_error(error), "a-request"))

    answer = read_answer(response)
    assert answer.status == json.loads(answer.body)["status"] == status
    assert answer.fields["connection"] == "close"
    assert answer.fields["x-request-id"] == "a-request"
    assert SECRET.encode() not in response
