"""Time-outs: of a read, and of a call as a whole."""

from __future__ import annotations

import time

import pytest

from app.connector import CallTimeoutError
from app.connector.http.connection import Limits


@pytest.mark.parametrize("path", ["/drip", "/headerdrip", "/slow"])
def test_total_time_out_ends_a_call_that_never_stops_answering(call, path):
    started = time.monotonic()

    with pytest.raises(CallTimeoutError, match=r"timed out|time-out|in time"):
        call({"url": path}, timeout={"connect": 20_000, "read": 20_000, "total": 150})

    assert time.monotonic() - started < 10


def test_nothing_is_read_after_the_deadline(connect):
    policy = connect([])._client.transport.policy

    with pytest.raises(TimeoutError, match="total time-out was exceeded"):
        Limits(policy, deadline=time.monotonic(), read=1).next_read()


def test_read_time_out_ends_a_call_without_answer(call):
    with pytest.raises(CallTimeoutError):
        call({"url": "/slow"}, timeout=50)


def test_time_out_is_also_a_python_time_out(call):
    with pytest.raises(TimeoutError):
        call({"url": "/slow"}, timeout={"read": 50})
