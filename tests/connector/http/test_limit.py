"""`pool.maxConcurrent`: calls that are under way at once, and what happens to one more."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.connector import HTTPStatusError, TooManyCallsError, without_waiting

OPERATIONS = [
    {"template": {"url": "/{path}"}, "functions": {"get": ["path"]}},
    {
        "template": {"url": "/{path}", "timeout": {"total": 300}},
        "functions": {"get_soon": ["path"]},
    },
]


@pytest.fixture
def held(server):
    """Let the remote keep calls of `/held` until `go` is set, and tell when it has one."""
    arrived, go = threading.Event(), threading.Event()

    def keep(handler):
        arrived.set()
        go.wait(60)
        handler.reply("done")

    server.routes["held"] = keep
    yield arrived, go
    go.set()


def test_no_more_calls_than_the_limit_are_under_way_at_once(connect, server):
    source = connect(OPERATIONS, options={"pool": {"maxConcurrent": 2}})
    start, lock, counts = threading.Barrier(8), threading.Lock(), []
    # Calls are under way in pairs.
    meet = threading.Barrier(2)
    under_way = 0

    def count(handler):
        nonlocal under_way
        with lock:
            under_way += 1
            counts.append(under_way)
        meet.wait(60)
        with lock:
            under_way -= 1
        handler.reply("done")

    def call(_index):
        start.wait(60)
        return source.get("counted")

    server.routes["counted"] = count
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, range(8)))

    assert results == ["done"] * 8
    assert max(counts) == 2


def test_a_call_that_gets_no_place_within_its_time_out_is_an_error(connect, held, server):
    arrived, go = held
    source = connect(OPERATIONS, options={"pool": {"maxConcurrent": 1}})
    other_source = connect(OPERATIONS, options={"pool": {"maxConcurrent": 1}})

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(source.get, "held")
        assert arrived.wait(60)
        with pytest.raises(TooManyCallsError, match=r"GET .*/late: 1 other calls") as refused:
            source.get_soon("late")
        assert other_source.get("other")["path"] == "/other"
        go.set()
        assert first.result() == "done"

    assert refused.value.kind == "transport"
    assert server.hits["/late"] == 0


def test_a_call_raises_at_once_where_it_must_not_wait(connect, held):
    arrived, go = held
    source = connect(OPERATIONS, pool={"maxConcurrent": 1})

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(source.get, "held")
        assert arrived.wait(60)
        with without_waiting(), pytest.raises(TooManyCallsError):
            source.get("other")
        go.set()
        assert first.result() == "done"

    with without_waiting():
        assert source.get("other")["path"] == "/other"


def test_a_failed_call_releases_its_place(connect):
    source = connect(
        OPERATIONS, options={"pool": {"maxConcurrent": 1}, "timeout": {"total": 20_000}}
    )

    for _ in range(3):
        with pytest.raises(HTTPStatusError):
            source.define("status").find_by_id(500)
    assert source.get("echo")["path"] == "/echo"


def test_a_hook_may_call_while_its_call_has_ended(connect):
    source = connect(
        OPERATIONS, options={"pool": {"maxConcurrent": 1}, "timeout": {"total": 20_000}}
    )
    seen = []

    def again(ctx):
        if ctx.result["path"] == "/first":
            seen.append(source.get("second")["path"])

    source.observe("after execute", again)
    source.get("first")

    assert seen == ["/second"]
