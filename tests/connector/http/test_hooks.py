"""Hooks around every call, and headers for a block of calls."""

from __future__ import annotations

import threading

import pytest

from app.connector import (
    Call,
    ConnectError,
    DataSource,
    NotFoundError,
    NotSupportedError,
    VariableError,
)


@pytest.fixture
def source(connect) -> DataSource:
    return connect(
        [
            {
                "template": {
                    "method": "POST",
                    "url": "/echo",
                    "query": {"a": "{a}"},
                    "body": {"b": 1},
                },
                "functions": {"f": ["a"]},
            },
            {"template": {"url": "/status/404"}, "functions": {"missing": []}},
            {"template": {"url": "/reset"}, "functions": {"broken": []}},
        ]
    )


@pytest.fixture
def events(source):
    """Note every event of the source in order."""
    seen: list[tuple[str, Call]] = []
    for event in ("before execute", "after execute", "after execute error"):
        source.observe(event, lambda ctx, event=event: seen.append((event, ctx)))
    return seen


def names(events):
    return [event for event, _ in events]


def test_hooks_see_a_successful_call(source, events):
    source.f(1)

    assert names(events) == ["before execute", "after execute"]
    ctx = events[-1][1]
    assert (ctx.operation, ctx.response.status_code, ctx.attempt) == ("f", 200, 1)
    assert ctx.result["query"] == "a=1"
    assert ctx.elapsed > 0
    assert repr(ctx).startswith("<Call f: POST http://127.0.0.1")


def test_hooks_see_an_error_status(source, events):
    with pytest.raises(NotFoundError):
        source.missing()

    assert names(events) == ["before execute", "after execute", "after execute error"]
    assert events[1][1].response.status_code == 404


def test_hooks_see_a_broken_connection(source, events):
    with pytest.raises(ConnectError):
        source.broken()

    assert names(events) == ["before execute", "after execute error"]
    assert isinstance(events[1][1].error, ConnectError)


def test_hooks_see_resources_too(source, events):
    source.define("echo").exists(1)

    assert events[0][1].operation == "echo.exists"


def test_before_hook_changes_the_request(source):
    def change(ctx):
        ctx.request.method = "PUT"
        ctx.request.headers["X-Hook"] = "yes"
        ctx.request.query["b"] = 2
        ctx.request.body["c"] = 3

    source.observe("before execute", change)
    seen = source.f(1)

    assert (seen["method"], seen["query"], seen["json"]) == ("PUT", "a=1&b=2", {"b": 1, "c": 3})
    assert seen["headers"]["x-hook"] == "yes"


def test_hooks_see_request_and_response_by_the_names_of_loopback(source):
    seen = []

    def change(ctx):
        assert (ctx.req.method, ctx.req.qs, ctx.req.body) == ("POST", {"a": 1}, {"b": 1})
        ctx.req.uri += "/more"
        ctx.req.qs = {"sig": "s"}
        ctx.req.headers["x-a"] = 1

    source.observe("before execute", change)
    source.observe("after execute", lambda ctx: seen.append((ctx.res.statusCode, ctx.res.body)))
    found = source.f(1)

    assert (found["path"], found["query"], found["headers"]["x-a"]) == ("/echo/more", "sig=s", "1")
    assert seen == [(200, found)]


def test_headers_of_the_data_source_remain_when_a_hook_replaces_all(connect, server):
    template = {"url": "/echo", "headers": {"x-own": "1"}}
    source = connect([{"template": template}], headers={"x-key": "k"})
    source.observe("before execute", lambda ctx: setattr(ctx.req, "headers", {"x-new": "2"}))

    headers = source.invoke()["headers"]

    assert (headers["x-key"], headers["x-new"]) == ("k", "2")
    assert headers["accept"] == "application/json"
    assert "x-own" not in headers


def test_hook_that_replaces_all_headers_sends_none_to_another_origin(connect, server, other_server):
    server.routes["rows"] = lambda h: h.reply({"next": other_server.url + "/echo"})
    paginate = {"type": "next", "path": "$.next"}
    source = connect(
        [{"template": {"url": "/rows", "paginate": paginate}, "functions": {"rows": []}}],
        headers={"x-key": "k"},
        allowedHosts=["127.0.0.1"],
    )
    source.observe("before execute", lambda ctx: setattr(ctx.req, "headers", {"x-new": "2"}))

    list(source.rows.pages())

    assert server.seen[0]["headers"]["x-key"] == "k"
    assert "x-key" not in other_server.seen[0]["headers"]


def test_header_of_a_hook_that_cannot_be_sent_is_refused(source, server):
    source.observe("before execute", lambda ctx: ctx.request.headers.update({"X-A": "a\nb"}))

    with pytest.raises(VariableError, match="Header X-A must not contain line breaks"):
        source.f(1)

    assert server.seen == []


def test_before_hook_answers_without_a_call(source, server):
    source.observe("before execute", lambda ctx: ctx.end({"cached": True}))
    answers = []

    assert source.f(1) == {"cached": True}
    source.f(1, lambda *args: answers.append(args))
    assert answers == [(None, {"cached": True}, None)]
    assert server.seen == []


def test_after_hook_replaces_the_result(source):
    source.observe("after execute", lambda ctx: ctx.end("mine"))

    assert source.f(1) == "mine"
    assert source.missing() == "mine"


def test_result_can_be_set_directly(source):
    def double(ctx):
        ctx.result = ctx.result["query"] * 2

    source.observe("after execute", double)

    assert source.f(1) == "a=1a=1"


def test_error_hook_replaces_the_error(source):
    source.observe("execute failed", lambda ctx: ctx.end(type(ctx.error).__name__))

    assert source.broken() == "ConnectError"
    assert source.missing() == "NotFoundError"


@pytest.mark.parametrize("event", ["before execute", "after execute"])
def test_hook_that_raises_aborts_the_call(source, event):
    def refuse(ctx):
        raise RuntimeError("no")

    source.observe(event, refuse)

    with pytest.raises(RuntimeError, match=r"^no$"):
        source.f(1)


def test_signals_send_the_data_source_and_the_context(source):
    seen = []

    def receive(sender, ctx):
        seen.append((sender, ctx.operation))

    with source.before_execute.connected_to(receive):
        source.f(1)
    source.f(1)

    assert seen == [(source, "f")]


def test_hooks_of_one_data_source_do_not_see_another(source, events, connect):
    connect([{"template": {"url": "/text"}}]).invoke()

    assert events == []


def test_unknown_event_is_refused(source):
    with pytest.raises(NotSupportedError, match="no event 'before_execute'; did you mean 'before"):
        source.observe("before_execute", print)


def test_context_adds_headers_inside_its_block(source):
    with source.context(headers={"Authorization": "outer", "x-a": 1}):
        with source.context(headers={"authorization": "inner"}):
            inner = source.f(1)["headers"]
        outer = source.f(1)["headers"]
    after = source.f(1)["headers"]

    assert (inner["authorization"], inner["x-a"]) == ("inner", "1")
    assert outer["authorization"] == "outer"
    assert "authorization" not in after


def test_context_is_left_when_the_block_fails(source):
    with pytest.raises(NotFoundError), source.context(headers={"x-a": 1}):
        source.missing()

    assert "x-a" not in source.f(1)["headers"]


def test_context_holds_for_its_own_thread_and_data_source(source, connect):
    other = connect([{"template": {"url": "/echo"}}])
    found = []
    with source.context(headers={"x-a": 1}):
        thread = threading.Thread(target=lambda: found.append(source.f(1)["headers"]))
        thread.start()
        thread.join()
        found.append(other.invoke()["headers"])

    assert all("x-a" not in headers for headers in found)
