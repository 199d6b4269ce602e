"""Time-outs: of a read, and of a call as a whole."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, closing

import pytest

from app.connector import CallTimeoutError
from app.connector.http import connection
from app.connector.http.connection import Limits


@pytest.mark.parametrize("path", ["/drip", "/headerdrip", "/slow"])
def test_total_time_out_ends_a_call_that_never_stops_answering(call, path):
    # Longer than the server lasts.
    others = {"connect": 100_000, "read": 100_000}

    with pytest.raises(CallTimeoutError, match=r"timed out|time-out|in time"):
        call({"url": path}, timeout={**others, "total": 150})


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


@pytest.fixture
def make_deaf():
    """Let connections to a port be neither accepted nor refused; return the port."""
    with ExitStack() as stack:

        def make_deaf(host, port=0):
            listener = stack.enter_context(closing(socket.create_server((host, port), backlog=0)))
            port = listener.getsockname()[1]
            while not has_no_place(host, port):
                pass
            return port

        def has_no_place(host, port):
            """Take a place in the queue of the port; tell whether none was left."""
            waiting = stack.enter_context(closing(socket.socket()))
            waiting.settimeout(0.2)
            try:
                waiting.connect((host, port))
            except TimeoutError:
                return True
            return False

        yield make_deaf


@pytest.fixture
def resolve(monkeypatch):
    """Let the name `many.test` have these addresses."""
    look_up = socket.getaddrinfo

    def resolve(*addresses):
        def look_up_many(host, *details, **options):
            hosts = addresses if host == "many.test" else [host]
            return [found for each in hosts for found in look_up(each, *details, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", look_up_many)

    return resolve


def test_all_addresses_of_a_host_share_the_time_for_a_connection(call, resolve, make_deaf):
    port = make_deaf("0.0.0.0")
    # One after the other they would take 400 s, which is more than a test may take.
    resolve(*[f"127.0.{number // 250}.{number % 250 + 1}" for number in range(2000)])

    with pytest.raises(CallTimeoutError):
        call({"url": f"http://many.test:{port}/"}, timeout={"connect": 200})


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    call, resolve, make_deaf, server, monkeypatch
):
    monkeypatch.setattr(connection, "ADDRESS_TIMEOUT", 0.05)
    make_deaf("127.0.0.2", server.server_port)
    resolve("127.0.0.2", "127.0.0.1")

    found = call({"url": f"http://many.test:{server.server_port}/text"}, timeout={"connect": 4000})

    assert found == "plain words"
