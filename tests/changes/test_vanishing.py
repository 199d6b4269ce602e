"""Clients of streams that vanish, read nothing, or send what nobody asked for."""

import socket
import struct

import pytest

from tests.support.waiting import eventually

from .test_parked import callers, connect, server  # noqa: F401 fixtures

pytestmark = pytest.mark.live
RESET = struct.pack("ii", 1, 0)


def status_of(client):
    return int(client.read_until(b"\r\n\r\n").split()[1])


def test_clients_that_vanish_before_the_answer_begins_are_not_counted(callers, connect):  # noqa: F811
    for _ in range(40):
        client = connect(callers[0])
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        client.socket.close()

    eventually(lambda: status_of(connect(callers[0])) == 200)
