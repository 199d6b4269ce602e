"""Requests that compute a password hash wait for their turn under gunicorn, without a thread."""

import fcntl
import json
import re
import shutil
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.client import parse_headers
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

import pytest
import requests

from tests.conftest import PASSWORD
from tests.support.installation import Installation
from tests.support.live import serve
from tests.support.waiting import eventually

# Verifications wait while somebody locks the file, as if they took so long.
SLOW = """
import fcntl, os
from argon2 import PasswordHasher

def slow(compute):
    def wait(*arguments):
        with open(os.environ["GATE"], "a") as gate:
            gate.write("computes\\n")
            gate.flush()
            fcntl.flock(gate, fcntl.LOCK_SH)
        return compute(*arguments)
    return wait

PasswordHasher.verify = slow(PasswordHasher.verify)
"""
ADA = {"email": "ada@example.com", "password": PASSWORD}


@contextmanager
def run_slow(folder, sqlite_template, **environment) -> Iterator:
    """Run the service in one process, with a user, and with hashes that `held` makes slow."""
    root = Installation(folder).folder
    with (root / "wsgi.py").open("a") as code:
        code.write(SLOW)
    (folder / "gate").touch()
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    settings = {"GATE": str(folder / "gate"), "WEB_CONCURRENCY": "1", **environment}
    url = f"sqlite:///{folder}/ostiary.sqlite"
    with serve(folder, url, root=root, APP_TRUSTED_PROXIES="1", **settings) as server:
        requests.post(f"{server.url}/api/users", json=ADA, timeout=60).raise_for_status()
        yield server


@contextmanager
def held(server):
    """Let no verification of a password end during the block."""
    with open(server.environment["GATE"]) as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hashes")
    with run_slow(folder, sqlite_template, APP_PASSWORD_HASH_WAIT="60") as server:
        yield server


@pytest.fixture(scope="module")
def impatient(sqlite_template, tmp_path_factory):
    """A service in which requests wait for a second."""
    settings = {
        "APP_PASSWORD_HASH_WAIT": "1",
        "APP_CORS_ORIGINS": '["https://example.com"]',
    }
    folder = tmp_path_factory.mktemp("impatient")
    with run_slow(folder, sqlite_template, **settings) as server:
        yield server


@pytest.fixture(scope="module")
def small(sqlite_template, tmp_path_factory):
    """A service in which ten requests wait."""
    settings = {
        "APP_PASSWORD_HASH_WAIT": "60",
        "GUNICORN_CMD_ARGS": "--worker-connections=20 --keep-alive=30",
    }
    folder = tmp_path_factory.mktemp("small")
    with run_slow(folder, sqlite_template, **settings) as server:
        yield server


def message(method="POST", path="/api/users/login", body=ADA, **headers) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    fields = {"Host": "x", "Content-Type": "application/json", "Content-Length": len(content)}
    lines = [f"{name}: {value}\r\n" for name, value in {**fields, **headers}.items()]
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + content


def send(server, *messages: bytes) -> socket.socket:
    address = urlsplit(server.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    connection.sendall(b"".join(messages))
    return connection


def log_in(server, address: str) -> socket.socket:
    """Send a login of a client with this address."""
    return send(server, message(**{"X-Forwarded-For": address}))


class Answer(NamedTuple):
    status: int
    headers: Message
    content: bytes


def answers(connection: socket.socket, number: int = 1) -> list[Answer]:
    """Read answers of a connection, and close it."""
    with connection, connection.makefile("rb") as file:
        return [_read_answer(file) for _ in range(number)]


def _read_answer(file: BinaryIO) -> Answer:
    status = int(file.readline().split()[1])
    headers = parse_headers(file)
    return Answer(status, headers, file.read(int(headers["Content-Length"])))


def answer(connection: socket.socket) -> Answer:
    [found] = answers(connection)
    return found


def statuses(connections: Iterable[socket.socket]) -> list[int]:
    return [answer(connection).status for connection in connections]


def is_served(server) -> bool:
    """Tell whether reads are answered; what was sent before has been received by then."""
    return requests.get(f"{server.url}/api/todos", timeout=60).status_code == 401


@pytest.mark.live
def test_logins_at_the_same_moment_wait_and_leave_the_threads_to_others(server):
    with held(server):
        connections = [log_in(server, f"192.0.2.{i}") for i in range(40)]
        reads = [is_served(server) for _ in range(10)]

    assert reads == [True] * 10
    assert statuses(connections) == [200] * 40


@pytest.mark.live
def test_a_client_with_many_logins_does_not_keep_another_one_waiting(server):
    with held(server):
        many = [log_in(server, "198.51.100.1") for _ in range(200)]
        is_served(server)
        other = log_in(server, "198.51.100.2")
        is_served(server)

    def clients():
        return re.findall(r': (198\.51\.100\.\d) "POST', server.log.read_text())

    assert set(statuses([*many, other])) == {200}
    eventually(lambda: len(clients()) == 201)
    # Behind the two that had begun and one more, which threads may answer in another order.
    assert clients().index("198.51.100.2") < 8


@pytest.mark.live
def test_registrations_and_resets_wait_as_logins_do(server):
    calls = [("/api/users", {"email": f"u{i}@example.com", "password": PASSWORD}) for i in range(9)]
    calls += [("/api/users/reset-password", {"newPassword": PASSWORD})] * 9
    with held(server):
        logins = [log_in(server, "192.0.2.1") for _ in range(2)]
        is_served(server)
        others = [send(server, message(path=path, body=body)) for path, body in calls]
        reads = [is_served(server) for _ in range(5)]

    assert reads == [True] * 5
    assert statuses(logins) == [200] * 2
    assert statuses(others) == [200] * 9 + [401] * 9


@pytest.mark.live
def test_requests_behind_one_that_waits_are_answered_in_their_order(server):
    read = message("GET", "/api/todos", None)
    with held(server):
        first = [log_in(server, "192.0.2.1") for _ in range(2)]
        is_served(server)
        pipelined = send(server, message(), read)
        later = send(server, message())
        is_served(server)
        later.sendall(read + message())
        is_served(server)

    assert statuses(first) == [200, 200]
    assert [found.status for found in answers(pipelined, 2)] == [200, 401]
    assert [found.status for found in answers(later, 3)] == [200, 401, 200]


@pytest.mark.live
def test_who_disconnects_while_waiting_gives_the_place_up(server):
    with held(server):
        first = [log_in(server, "192.0.2.1") for _ in range(2)]
        is_served(server)
        gone = [log_in(server, "203.0.113.1") for _ in range(20)]
        is_served(server)
        for connection in gone:
            connection.close()
        is_served(server)
        last = log_in(server, "203.0.113.1")

    assert statuses([*first, last]) == [200] * 3
    eventually(lambda: server.log.read_text().count(' 203.0.113.1 "POST') == 1)


@pytest.mark.live
def test_who_has_waited_too_long_is_refused_as_the_service_answers(impatient):
    headers = {"X-Request-Id": "abc-1", "Origin": "https://example.com"}
    page = {"access_token": "x" * 64, "newPassword": PASSWORD}
    with held(impatient):
        first = [log_in(impatient, "192.0.2.1") for _ in range(2)]
        is_served(impatient)
        waiting = send(impatient, message(**headers))
        form = answer(send(impatient, message(path="/reset-password", body=page)))
        login = answer(waiting)

    assert login.status == 503
    assert json.loads(login.content)["error"]["code"] == "TOO_MANY_HASHES"
    assert login.headers["Retry-After"] == "10"
    assert login.headers["X-Request-Id"] == "abc-1"
    assert login.headers["X-Content-Type-Options"] == "nosniff"
    assert login.headers["Access-Control-Allow-Origin"] == "https://example.com"
    assert form.status == 503
    assert b"<form" in form.content
    assert statuses(first) == [200, 200]
    # As long as the client has waited.
    line = re.compile(r'login" 503 (\d+) (\d+)ms abc-1 ')
    logged = eventually(lambda: line.search(impatient.log.read_text()))
    assert int(logged[1]) == len(login.content)
    assert int(logged[2]) >= 900


@pytest.mark.live
def test_the_newest_of_who_has_most_are_refused_where_there_is_no_room(small):
    with held(small):
        first = [log_in(small, "192.0.2.1") for _ in range(2)]
        is_served(small)
        many = [log_in(small, "192.0.2.1") for _ in range(10)]
        is_served(small)
        others = [log_in(small, f"192.0.2.{i}") for i in (2, 3)]
        refused = statuses(many[-2:])
        is_served(small)

    assert refused == [503, 503]
    assert statuses([*first, *many[:-2], *others]) == [200] * 12


@pytest.mark.live
def test_as_many_hashes_are_computed_at_once_as_there_are_processes(sqlite_template, tmp_path):
    def begun() -> int:
        return len((tmp_path / "gate").read_text().splitlines())

    with run_slow(tmp_path, sqlite_template, WEB_CONCURRENCY="2") as server:
        first, second = server.workers()
        with held(server):
            with server.only(first):
                connections = [log_in(server, "192.0.2.1") for _ in range(4)]
                # One of them in place of the other process, which computes none.
                eventually(lambda: begun() == 2)
            with server.only(second):
                connections += [log_in(server, "192.0.2.1") for _ in range(4)]
                # It need not wait for the other process to end.
                eventually(lambda: begun() == 3)
                reads = [is_served(server) for _ in range(5)]
                during = begun()
        found = statuses(connections)

    assert reads == [True] * 5
    assert during == 3
    assert found == [200] * 8


@pytest.mark.live
@pytest.mark.parametrize(("seconds", "expected"), [("30", 200), ("2", 503)])
def test_a_stop_answers_who_waits_within_its_time(sqlite_template, tmp_path, seconds, expected):
    arguments = f"--graceful-timeout={seconds} --keep-alive=30"
    with run_slow(tmp_path, sqlite_template, GUNICORN_CMD_ARGS=arguments) as server:
        with held(server):
            connections = [log_in(server, "192.0.2.1") for _ in range(10)]
            is_served(server)
            server.process.send_signal(signal.SIGTERM)
            eventually(lambda: "Handling signal: term" in server.log.read_text())
            found = (
                [answer(connection) for connection in connections[2:]] if expected == 503 else []
            )
        found += [answer(connection) for connection in connections[: 10 - len(found)]]
        end = server.process.wait(30)

    assert [one.status for one in found] == [expected] * 8 + [200] * 2
    assert {one.headers["Connection"] for one in found if one.status == 503} <= {"close"}
    assert end == 0
