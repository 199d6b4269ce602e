"""Clients of streams that vanish, open more than they may, or send what nobody asked for."""

import os
import resource
import socket
import struct
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import requests

from tests.support.live import newcomer
from tests.support.waiting import eventually

from .test_parked import Client, callers, connect, create, serve_todos, server  # noqa: F401 fixtures

pytestmark = pytest.mark.live
RESET = struct.pack("ii", 1, 0)
CONNECTIONS = 3_000


def status_of(client):
    return int(client.read_until(b"\r\n\r\n").split()[1])


def resident(process):
    """Return the bytes of memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


def reset(client):
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.socket.close()


def has_room(connect, caller):  # noqa: F811
    """Return True if a user may open a stream, which is closed again."""
    client = connect(caller)
    status = status_of(client)
    client.socket.close()
    return status == 200


def test_clients_that_vanish_before_the_answer_begins_are_not_counted(callers, connect):  # noqa: F811
    for _ in range(40):
        reset(connect(callers[0]))

    eventually(lambda: has_room(connect, callers[0]))


def test_a_client_that_closes_its_side_has_gone(callers, connect):  # noqa: F811
    clients = [connect(callers[1]) for _ in range(10)]
    for client in clients:
        client.read_until(b":ok\n\n")
        client.socket.shutdown(socket.SHUT_WR)

    eventually(lambda: has_room(connect, callers[1]))


def test_what_clients_send_during_a_stream_is_dropped(server, callers, connect):  # noqa: F811
    client = connect(callers[2])
    client.read_until(b":ok\n\n")
    for _ in range(50):
        client.socket.sendall(b"GET /api/todos HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)

    create(server, callers[2], "After all that")

    received = client.read_until(b"After all that")
    assert received.count(b"HTTP/1.1 ") == 1


def test_streams_continue_after_a_restart(server, callers, connect):  # noqa: F811
    client = connect(callers[3])
    create(server, callers[3], "Before")
    last = client.read_until(b"Before").split(b"id: ")[1].split(b"\n")[0].decode()
    server.stop()
    client.read_all()
    server.start()
    create(server, callers[3], "Meanwhile")

    resumed = connect(callers[3], path=f"/api/todos/change-stream?since={last}")

    received = resumed.read_until(b"Meanwhile")
    assert b"Before" not in received
    assert b"resync" not in received


def test_many_connections_leave_a_process_that_answers(server, callers):  # noqa: F811
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard > CONNECTIONS + 500, f"the limit of open files is {hard}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    process = server.workers()[0]
    before, clients = resident(process), []
    try:
        for _ in range(CONNECTIONS):
            clients.append(Client(server, callers[4]))
        answer = requests.get(f"{server.url}/api/todos", headers=callers[5], timeout=120)
        grown = resident(process) - before
    finally:
        for client in clients:
            client.socket.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert answer.status_code == 200
    assert grown < 50 * 1024 * 1024


def cpu_time(process):
    """Return the seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_streams_that_take_all_files_leave_some_for_requests(sqlite_template, tmp_path):
    limit = ("prlimit", "--nofile=220:220")
    with serve_todos(tmp_path, sqlite_template, launcher=limit) as server, ExitStack() as stack:  # noqa: F811
        users = [newcomer(server.url, f"user{number}@example.com") for number in range(25)]
        for number in range(250):
            # An address may open 100 streams, and a user 10.
            source = f"127.0.0.{2 + number // 100}"
            client = Client(server, users[number // 10], source=source)
            stack.callback(client.socket.close)
        answers = [
            requests.get(f"{server.url}/api/todos", headers=users[0], timeout=20).status_code
            for _ in range(5)
        ]
        process = server.workers()[0]
        before, started = cpu_time(process), time.monotonic()
        client.socket.settimeout(2)
        with suppress(TimeoutError):
            while client.socket.recv(65536):
                pass
        share = (cpu_time(process) - before) / (time.monotonic() - started)

    assert answers == [200] * 5
    assert share < 0.5
