"""Limits of responses that are continued later."""

import socket
from selectors import DefaultSelector

import pytest

from app.server import parking
from app.server.connection import ClientConnection
from app.server.parking import ParkedConnections, ParkedResponse


@pytest.fixture
def park():
    """Return a function that parks a response of a connection whose client reads nothing."""
    pairs, calls = [], []
    connections = ParkedConnections(DefaultSelector(), calls.append, 60)

    def park():
        pairs.append(socket.socketpair())
        conn = ClientConnection(pairs[-1][0], "", "", 60)
        response = ParkedResponse(conn.outgoing, True, lambda: None)
        connections.add(conn, response)
        return response

    park.calls = calls
    yield park
    for pair in pairs:
        for each in pair:
            each.close()


def test_the_longest_that_reads_nothing_is_closed_if_too_much_is_unsent(park, monkeypatch):
    monkeypatch.setattr(parking, "MAX_UNSENT", 3_000_000)
    responses = [park() for _ in range(3)]

    for response in responses:
        response.send(b"x" * 1_500_000)
        park.calls.pop()()

    assert [response.is_gone for response in responses] == [True, False, False]
    assert [response.is_busy for response in responses[1:]] == [True, True]
