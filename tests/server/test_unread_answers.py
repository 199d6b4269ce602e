"""Answers that clients do not read, or read slowly or half, while others are served."""

import shutil
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from app.server.outgoing import MAX_UNSENT
from tests.support.installation import Installation
from tests.support.live import serve
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

LARGE, STREAMED = 3_000_000, 3 * MAX_UNSENT
CONNECTIONS, PIPELINED = 40, 30
# MiB of a process.
MEMORY = 90
UNREAD = "closed a connection of 127.0.0.1: it did not take its answer"
VIEWS = f"""
from flask import send_file

FILE = __file__ + ".bin"
LARGE = b"x" * {LARGE}

@app.get("/large")
def large():
    return bytes(LARGE)

@app.get("/stream")
def stream():
    return (LARGE[:65536] for _ in range({STREAMED // 65536}))

@app.get("/fail")
def fail():
    def body():
        yield LARGE
        raise OSError("planted")
    return body()

@app.get("/file")
def file():
    return send_file(FILE)

@app.get("/file-in-chunks")
def file_in_chunks():
    return send_file(open(FILE, "rb"), "text/plain")
"""


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    """A process with two threads, whose application has large answers of its own."""
    folder = tmp_path_factory.mktemp("unread")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    root = Installation(folder).folder
    with (root / "wsgi.py").open("a") as code:
        code.write(VIEWS)
    (root / "wsgi.py.bin").write_bytes(bytes(STREAMED))
    settings = {"WEB_CONCURRENCY": "1", "THREADS": "2", "APP_REQUEST_TIMEOUT": "3"}
    with serve(folder, f"sqlite:///{folder}/ostiary.sqlite", root=root, **settings) as server:
        yield server


@pytest.fixture
def connections():
    with ExitStack() as stack:
        yield stack


def ask(server, connections, path, times=1):
    """Send requests on one connection, whose client takes little before it reads."""
    address = urlsplit(server.url)
    connection = connections.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect((address.hostname, address.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * times)
    return connection


def read_all(connection):
    """Read until the server closes the connection; return the number of bytes."""
    total = 0
    while piece := connection.recv(1_000_000):
        total += len(piece)
    return total


def logged(server, text):
    return server.log.read_text().count(text)


@pytest.mark.parametrize("path", ["/api/openapi.json", "/large"])
def test_clients_that_do_not_read_hold_no_thread_and_are_closed(server, connections, path):
    closed, failed, answered = (
        logged(server, text) for text in (UNREAD, "Traceback", f'"GET {path}" 200')
    )
    for _ in range(CONNECTIONS):
        ask(server, connections, path, PIPELINED)

    for _ in range(10):
        # The two threads would wait a minute for all clients.
        assert requests.get(f"{server.url}/health", timeout=40).status_code == 200
    eventually(lambda: logged(server, UNREAD) - closed == CONNECTIONS)

    answers = logged(server, f'"GET {path}" 200') - answered
    assert answers < CONNECTIONS * PIPELINED
    assert logged(server, "Traceback") == failed
    [worker] = server.workers()
    status = Path(f"/proc/{worker}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < MEMORY * 1024


@pytest.mark.parametrize(
    ("path", "length"),
    [
        ("/large", LARGE),
        ("/stream", STREAMED),
        ("/file", STREAMED),
        ("/file-in-chunks", STREAMED),
    ],
)
def test_a_client_that_reads_late_gets_the_whole_answer_and_the_next_one(
    server, connections, path, length
):
    answered = logged(server, f'"GET {path}" 200')
    connection = ask(server, connections, path, 2)
    if length < MAX_UNSENT:
        eventually(lambda: logged(server, f'"GET {path}" 200') > answered)
    connection.shutdown(socket.SHUT_WR)

    assert 2 * length < read_all(connection) < 2.01 * length


@pytest.mark.parametrize("path", ["/large", "/stream"])
def test_a_client_that_goes_away_ends_its_answer_and_nothing_else(server, connections, path):
    closed, failed = logged(server, UNREAD), logged(server, "Traceback")
    # So few that what they leave behind is never too much to be kept, however busy the machine is.
    for _ in range(2):
        with ask(server, connections, path) as connection:
            connection.recv(1)

    assert requests.get(f"{server.url}/health", timeout=60).status_code == 200
    assert logged(server, UNREAD) == closed
    assert logged(server, "Traceback") == failed


def test_an_answer_that_fails_half_way_is_cut_off_and_logged(server, connections):
    connection = ask(server, connections, "/fail", 2)

    assert LARGE < read_all(connection) < 1.1 * LARGE
    assert "OSError: planted" in server.log.read_text()
