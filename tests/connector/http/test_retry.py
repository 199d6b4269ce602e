"""Repeating calls: off unless asked, only where it is safe, with Retry-After."""

from __future__ import annotations

import io

import pytest

from app.connector import CallTimeoutError, ConnectError, HTTPStatusError
from app.connector.http.client import backoff
from app.connector.settings.options import read_options, source_options

QUICK = {"maxAttempts": 3, "maxDelay": 1}


def retry_policy(**retry):
    return read_options(source_options({"options": {"retry": retry}})).retry


@pytest.fixture
def flaky(server):
    """Answer 503 a number of times, then 200."""

    def make(failures, status=503, headers=None):
        def answer(handler):
            if server.hits["/flaky"] <= failures:
                handler.reply({}, status, headers=headers)
            else:
                handler.reply({"attempt": server.hits["/flaky"]})

        server.routes["flaky"] = answer

    return make


def test_without_asking_nothing_is_repeated(call, server, flaky):
    flaky(1)

    with pytest.raises(HTTPStatusError):
        call({"url": "/flaky"})

    assert server.hits["/flaky"] == 1


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_idempotent_call_is_repeated(call, flaky, method):
    flaky(2)

    assert call({"method": method, "url": "/flaky"}, options={"retry": QUICK}) == {"attempt": 3}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_call_that_may_act_twice_is_not_repeated(call, server, flaky, method):
    flaky(2)

    with pytest.raises(HTTPStatusError):
        call({"method": method, "url": "/flaky"}, options={"retry": QUICK})

    assert server.hits["/flaky"] == 1


def test_post_is_repeated_where_the_settings_say_so(call, flaky):
    flaky(1)
    retry = {**QUICK, "methods": ["post"]}

    assert call({"method": "POST", "url": "/flaky"}, options={"retry": retry}) == {"attempt": 2}


def test_file_is_sent_again_in_full(call, server, flaky):
    flaky(1)
    template = {"method": "PUT", "url": "/flaky", "files": {"f": "{f}"}}

    call(template, {"f": io.BytesIO(b"content")}, options={"retry": QUICK})

    assert ["content" in seen["text"] for seen in server.seen] == [True, True]


def test_attempts_come_to_an_end(call, server, flaky):
    flaky(9)

    with pytest.raises(HTTPStatusError):
        call({"url": "/flaky"}, options={"retry": QUICK})

    assert server.hits["/flaky"] == 3


@pytest.mark.parametrize(("status", "hits"), [(404, 1), (500, 3), (418, 1)])
def test_only_passing_statuses_are_repeated(call, server, flaky, status, hits):
    flaky(9, status)

    with pytest.raises(HTTPStatusError):
        call({"url": "/flaky"}, options={"retry": QUICK})

    assert server.hits["/flaky"] == hits


def test_statuses_of_the_settings_are_repeated(call, flaky):
    flaky(1, 418)

    assert call({"url": "/flaky"}, options={"retry": {**QUICK, "statuses": [418]}})


@pytest.mark.parametrize(
    ("path", "timeout", "error"),
    [("/reset", 20_000, ConnectError), ("/slow", 40, CallTimeoutError)],
)
def test_broken_connection_is_repeated(connect, path, timeout, error):
    source = connect([{"template": {"url": path, "timeout": timeout}}], options={"retry": QUICK})
    attempts = []
    source.observe("execute failed", lambda ctx: attempts.append(ctx.attempt))

    with pytest.raises(error):
        source.invoke()

    assert attempts == [3]


def test_retry_after_is_honoured(call, flaky):
    flaky(1, 429, {"Retry-After": "0"})

    assert call({"url": "/flaky"}, options={"retry": {"maxAttempts": 2, "maxDelay": 5000}})


def test_wait_beyond_the_total_time_out_is_not_begun(call, server, flaky):
    # More than a test may take.
    flaky(1, 503, {"Retry-After": "600"})

    with pytest.raises(HTTPStatusError):
        call(
            {"url": "/flaky"},
            options={
                "retry": {"maxAttempts": 2, "maxDelay": 600_000},
                "timeout": {"total": 500_000},
            },
        )

    assert server.hits["/flaky"] == 1


def test_retry_of_the_operation_merges_with_that_of_the_data_source(call, flaky):
    flaky(1)
    template = {"url": "/flaky", "options": {"retry": {"maxDelay": 1}}}

    assert call(template, options={"retry": {"maxAttempts": 2}}) == {"attempt": 2}


@pytest.mark.parametrize(
    ("attempt", "retry_after", "least", "most"),
    [
        (1, None, 0.1, 0.2),
        (3, None, 0.4, 0.8),
        (20, None, 5, 10),
        (9999, None, 5, 10),
        (1, 3, 3, 3),
        (1, 99, 10, 10),
    ],
)
def test_delay_grows_up_to_its_cap(attempt, retry_after, least, most):
    assert least <= backoff(retry_policy(), attempt, retry_after) <= most


def test_retry_after_may_be_ignored():
    assert backoff(retry_policy(respectRetryAfter=False), 1, 99) < 1
