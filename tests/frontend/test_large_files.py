"""Large files from gunicorn: clients that read slowly or not at all, and those that resume."""

import os
import shutil
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.live import serve
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

LENGTH = 1024**3
END = b"the end"
# Bytes that a client asks for once more.
PART = 32 * 1024 * 1024
CONNECTIONS = 40
# MiB of a process.
MEMORY = 90
UNREAD = "closed a connection of 127.0.0.1: it did not take its answer"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A front end with a file of 1 GiB, most of which takes no room on the disk."""
    folder = tmp_path_factory.mktemp("large") / "site"
    folder.mkdir()
    (folder / "index.html").write_text("the page")
    with (folder / "large.bin").open("wb") as file:
        file.truncate(LENGTH - len(END))
        file.seek(0, os.SEEK_END)
        file.write(END)
    return folder


@pytest.fixture(scope="module")
def server(sqlite_template, folder):
    """A process with two threads."""
    shutil.copy(sqlite_template, folder.parent / "ostiary.sqlite")
    settings = {"WEB_CONCURRENCY": "1", "THREADS": "2", "APP_REQUEST_TIMEOUT": "2"}
    url = f"sqlite:///{folder.parent}/ostiary.sqlite"
    with serve(folder.parent, url, APP_STATIC_FOLDER=str(folder), **settings) as server:
        yield server


@pytest.fixture
def connect(server):
    """Return a function that sends requests on a new connection."""
    address = urlsplit(server.url)
    with ExitStack() as stack:

        def connect(*requests):
            connection = stack.enter_context(
                socket.create_connection((address.hostname, address.port), timeout=60)
            )
            connection.sendall("".join(f"{request}\r\n\r\n" for request in requests).encode())
            return connection

        yield connect


def logged(server, text):
    return server.log.read_text().count(text)


def get(path, *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers])


def read_all(connection):
    total = b""
    while piece := connection.recv(1_000_000):
        total += piece
    return total


def open_files(process):
    """Return the names of the files that a process has open."""
    names = []
    for path in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.append(os.readlink(path).rpartition("/")[2])
    return names


def test_clients_that_do_not_read_hold_neither_a_thread_nor_memory(server, connect):
    connections = [connect(get("/large.bin"), get("/")) for _ in range(CONNECTIONS)]
    [worker] = server.workers()

    for _ in range(10):
        assert requests.get(f"{server.url}/api", timeout=60).status_code == 200
    opened = open_files(worker)
    eventually(lambda: logged(server, UNREAD) == CONNECTIONS)

    assert (opened.count("large.bin"), open_files(worker).count("large.bin")) == (CONNECTIONS, 0)
    assert len(connections) == CONNECTIONS
    status = Path(f"/proc/{worker}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < MEMORY * 1024
    assert logged(server, "Traceback") == 0


def test_a_client_that_was_cut_off_resumes(server, connect):
    first = connect(get("/large.bin"))
    head = first.recv(4096).partition(b"\r\n\r\n")[0].decode()
    first.close()
    etag = next(line for line in head.splitlines() if line.startswith("ETag: "))[6:]
    part = [f"Range: bytes={LENGTH - PART}-", f"If-Range: {etag}"]

    # The rest, and another request on the same connection.
    second = connect(get("/large.bin", *part), get("/", "Connection: close"))
    head, _, rest = read_all(second).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 206 ")
    body, following = rest[:PART], rest[PART:]
    assert (body.count(0), body[-len(END) :]) == (PART - len(END), END)
    assert following.startswith(b"HTTP/1.1 200 ")
    assert following.endswith(b"the page")
    assert f'"GET /large.bin" 206 {PART} ' in server.log.read_text()


def test_a_file_that_becomes_shorter_ends_the_connection(server, folder, connect):
    with (folder / "short.bin").open("wb") as file:
        file.truncate(LENGTH)
    connection = connect(get("/short.bin"), get("/"))
    connection.recv(4096)

    os.truncate(folder / "short.bin", 1000)

    assert len(read_all(connection)) < LENGTH
    assert requests.get(server.url, timeout=60).text == "the page"


@pytest.mark.parametrize(
    "path", ["/../config.py", "//etc/passwd", "/..%2fostiary.sqlite", "/%2e%2e/ostiary.sqlite"]
)
def test_a_path_that_no_client_would_send(connect, path):
    answer = read_all(connect(get(path, "Accept: text/html", "Connection: close")))

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert answer.endswith(b"}\n")
