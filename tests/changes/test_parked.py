"""Streams under our server, which keeps their connections in its main loop."""

import json
import os
import shutil
import signal
import socket
import threading
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
import requests

from tests.definitions.conftest import running_a_command
from tests.support.databases import migrate
from tests.support.live import newcomer, serve
from tests.support.waiting import eventually

pytestmark = pytest.mark.live
STREAMS = 60


@contextmanager
def serve_todos(folder, sqlite_template, **options):
    """Serve to-dos that are watched, by a process with one thread."""
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    url = f"sqlite:///{folder}/ostiary.sqlite"
    with running_a_command():
        migrate(url, folder, CHANGES=["todos"])
    limits = {"WEB_CONCURRENCY": "1", "THREADS": "1", "APP_REQUEST_TIMEOUT": "2"}
    changes = {"APP_CHANGES": '["todos"]', "APP_ADMIN_ENABLED": "false"}
    with serve(folder, url, **limits, **changes, **options) as server:
        yield server


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    """A process with one thread, whose to-dos are watched."""
    with serve_todos(tmp_path_factory.mktemp("parked"), sqlite_template) as server:
        yield server


@pytest.fixture(scope="module")
def callers(server):
    """As many users as are needed for all streams."""
    return [newcomer(server.url, f"user{number}@example.com") for number in range(STREAMS // 10)]


class Client:
    """A client of a stream, over a socket of its own."""

    def __init__(
        self,
        server,
        caller,
        version="1.1",
        path="/api/todos/change-stream",
        size=None,
        source="127.0.0.1",
    ):
        address = urlsplit(server.url)
        self.socket = socket.socket()
        self.socket.bind((source, 0))
        if size:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        self.socket.settimeout(20)
        self.socket.connect((address.hostname, address.port))
        token = caller["Authorization"]
        request = f"GET {path} HTTP/{version}\r\nHost: x\r\nAuthorization: {token}\r\n\r\n"
        self.socket.sendall(request.encode())
        self.received = b""

    def read_until(self, text):
        while text not in self.received:
            data = self.socket.recv(65536)
            assert data, self.received
            self.received += data
        return self.received

    def read_all(self):
        while data := self.socket.recv(65536):
            self.received += data
        return self.received


@pytest.fixture
def connect(server):
    with ExitStack() as stack:

        def connect(*arguments, **options):
            client = Client(server, *arguments, **options)
            stack.callback(client.socket.close)
            return client

        yield connect


def create(server, caller, title="Home"):
    url = f"{server.url}/api/todos"
    response = requests.post(url, json={"title": title}, headers=caller, timeout=20)
    response.raise_for_status()
    return response.json()


def test_one_thread_serves_many_streams_and_other_requests(server, callers, connect):
    clients = [connect(callers[number % len(callers)]) for number in range(STREAMS)]
    for client in clients:
        client.read_until(b":ok\n\n")

    todo = create(server, callers[0], "For all of them")
    for client in clients[:: len(callers)]:
        client.read_until(b"For all of them")

    assert f'"target":{todo["id"]}'.encode() in clients[0].received
    assert b"For all of them" not in clients[1].received
    assert b"Transfer-Encoding: chunked" in clients[0].received


def test_a_client_of_http_1_0_gets_no_chunks(server, callers, connect):
    client = connect(callers[0], version="1.0")

    create(server, callers[0], "Plain")

    body = client.read_until(b"Plain").partition(b"\r\n\r\n")[2]
    assert body.startswith(b":ok\n\nid: ")


def test_clients_that_have_gone_make_room_for_others(server, callers, connect):
    for _ in range(3):
        clients = [connect(callers[0]) for _ in range(10)]
        for client in clients:
            client.read_until(b":ok\n\n")
        eventually(lambda: b" 429 " in connect(callers[0]).read_until(b"\r\n\r\n"))
        for client in clients:
            client.socket.close()

        def has_room():
            client = connect(callers[0])
            is_open = b" 200 " in client.read_until(b"\r\n\r\n")
            client.socket.close()
            return is_open

        eventually(has_room)


def test_a_client_that_reads_nothing_is_closed_and_delays_no_other(server, callers, connect):
    slow, fast = connect(callers[1], size=2048), connect(callers[1])
    slow.read_until(b":ok\n\n")

    text = "x" * 9_000
    for number in range(300):
        path = f"{server.url}/api/todos"
        body = {"title": f"{number}", "desc": text}
        requests.post(path, json=body, headers=callers[1], timeout=20).raise_for_status()
        fast.read_until(f'"title":"{number}"'.encode())

    eventually(lambda: "did not" in server.log.read_text() or is_closed(slow))


def is_closed(client):
    """Read what has arrived for a client; return whether its connection was closed."""
    client.socket.settimeout(1)
    try:
        while client.socket.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def test_a_long_poll_occupies_no_thread(server, callers, connect):
    start = requests.get(
        f"{server.url}/api/changes?models=todos",
        headers={**callers[2], "Accept": "application/json"},
        timeout=20,
    ).json()["next"]
    found = []

    def poll():
        url = f"{server.url}/api/changes?models=todos&wait=20&since={start}"
        headers = {**callers[2], "Accept": "application/json"}
        found.append(requests.get(url, headers=headers, timeout=30).json())

    polls = [threading.Thread(target=poll) for _ in range(3)]
    for each in polls:
        each.start()
    todo = create(server, callers[2])
    for each in polls:
        each.join()

    assert [[change["target"] for change in page["changes"]] for page in found] == [
        [todo["id"]]
    ] * 3
    assert json.dumps(found)


def test_streams_end_when_the_worker_stops(server, callers, connect):
    client = connect(callers[3])
    client.read_until(b":ok\n\n")

    os.kill(server.workers()[0], signal.SIGTERM)

    assert client.read_all().endswith(b"0\r\n\r\n")
