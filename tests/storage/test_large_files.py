"""Large files through gunicorn: memory, slow clients and those that give up; the document."""

import os
import re
import resource
import shutil
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.documents import blocks, run_shell
from tests.support.live import newcomer, serve
from tests.support.raw_answers import read_answer
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

MIB = 1024 * 1024
LENGTH = 200 * MIB
# MiB by which a process may grow while it receives and sends that much.
GROWTH = 15
START = b"--x\r\n" + b'Content-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
END = b"\r\n--x--\r\n"
FORM = "multipart/form-data; boundary=x"
LARGE = """
{"large": {"connector": "loopback-component-storage", "root": "large", "maxFileSize": 209715200},
"""
MODELS = '{"big": {"dataSource": "large"}, '
BIG = """{"name": "big", "base": "Model", "acls": [
  {"principalType": "ROLE", "principalId": "$authenticated", "permission": "ALLOW"}]}"""


@pytest.fixture(scope="module")
def project(sqlite_template, tmp_path_factory):
    """The project of the document, with a second model for larger files."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "config.py").write_text("")
    (folder / "spool").mkdir()
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    path = f"{sys.prefix}/bin:{os.environ['PATH']}"
    code = blocks("docs/files.md", "sh", "Containers in a folder")[0]
    run_shell(code, folder, PATH=path, DATABASE_URL=f"sqlite:///{folder}/ostiary.sqlite")
    for name, more in (("datasources.json", LARGE), ("model-config.json", MODELS)):
        written = (folder / name).read_text()
        (folder / name).write_text(written.replace("{", more, 1))
    (folder / "models" / "big.json").write_text(BIG)
    return folder


@pytest.fixture(scope="module")
def server(project):
    """A process with two threads."""
    settings = {
        "WEB_CONCURRENCY": "1",
        "THREADS": "2",
        "APP_REQUEST_TIMEOUT": "2",
        "APP_TRUSTED_PROXIES": "1",
        "INSTANCE_PATH": str(project),
        "TMPDIR": str(project / "spool"),
    }
    with serve(project, f"sqlite:///{project}/ostiary.sqlite", **settings) as server:
        yield server


@pytest.fixture(scope="module")
def session(server):
    """A user who is logged in, and a container."""
    session = requests.Session()
    session.headers.update(newcomer(server.url))
    session.post(f"{server.url}/api/bigs", json={"name": "files"}).raise_for_status()
    return session


@pytest.fixture
def begin(server, session):
    """Return a function that sends the head of an upload of a length, and more."""
    connections = []

    def begin(length, *more, token=True):
        address = urlsplit(server.url)
        connection = socket.create_connection((address.hostname, address.port), timeout=60)
        connections.append(connection)
        authorization = f"Authorization: {session.headers['Authorization']}\r\n" if token else ""
        connection.sendall(
            f"POST /api/bigs/files/upload HTTP/1.1\r\nHost: x\r\n{authorization}"
            f"Content-Type: {FORM}\r\n{''.join(more)}Content-Length: {length}\r\n\r\n".encode()
        )
        return connection

    yield begin
    for connection in connections:
        connection.close()


def memory_of(server):
    """Return the most memory that the worker has needed, in MiB."""
    [worker] = server.workers()
    status = Path(f"/proc/{worker}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def files_of(server):
    """Return the files that the worker has open and that have no name."""
    [worker] = server.workers()
    targets = []
    for entry in Path(f"/proc/{worker}/fd").iterdir():
        # It may be closed already.
        with suppress(FileNotFoundError):
            targets.append(os.readlink(entry))
    # gunicorn has one there too.
    return [target for target in targets if "/spool/" in target and "wgunicorn" not in target]


def large_form(size=LENGTH, block=bytes(range(256)) * 1024):
    yield START
    for _ in range(size // len(block)):
        yield block
    yield END


def test_the_calls_of_the_document_have_its_statuses(server, session, tmp_path):
    code = blocks("docs/files.md", "sh", "Containers in a folder")[1]
    variables = {"API": f"{server.url}/api", "JSON": "Content-Type: application/json"}
    expected, printed, _ = run_shell(
        code, tmp_path, TOKEN=session.headers["Authorization"], **variables
    )

    assert printed == expected


def test_large_files_take_no_memory(server, session):
    before = memory_of(server)
    # In chunks, as there is no length.
    uploaded = session.post(
        f"{server.url}/api/bigs/files/upload",
        data=large_form(),
        headers={"Content-Type": FORM},
        timeout=60,
    )
    size = 0
    url = f"{server.url}/api/bigs/files/download/large.bin"
    with session.get(url, stream=True, timeout=60) as sent:
        for block in sent.iter_content(MIB):
            size += len(block)
    [file] = uploaded.json()["result"]["files"]["file"]

    assert (file["size"], size) == (LENGTH, LENGTH)
    assert memory_of(server) < before + GROWTH
    assert files_of(server) == []


def test_slow_uploads_hold_no_thread(server, session, begin):
    connections = [begin(LENGTH) for _ in range(8)]
    for connection in connections:
        connection.sendall(START)
    eventually(lambda: len(files_of(server)) == 8)
    with ThreadPoolExecutor(1) as pool:
        # Two threads would wait eight seconds for all of them.
        answered = pool.submit(session.get, f"{server.url}/api/bigs", timeout=6).result()

    assert answered.status_code == 200
    # They are closed, as too little of them arrives.
    eventually(lambda: files_of(server) == [])
    assert [connection.recv(1) for connection in connections] == [b""] * 8


def test_an_upload_that_is_aborted_leaves_nothing(server, session, begin, project):
    with closing(begin(LENGTH)) as connection:
        connection.sendall(START + b"x" * MIB)
        eventually(lambda: len(files_of(server)) == 1)
    eventually(lambda: files_of(server) == [])

    assert list((project / "large" / ".uploads").iterdir()) == []


def test_who_may_not_upload_is_refused_before_the_body(server, begin):
    answer = begin(LENGTH, token=False).recv(4096)
    waiting = begin(LENGTH, "Expect: 100-continue\r\n", token=False).recv(4096)

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert waiting.startswith(b"HTTP/1.1 401 ")


def test_little_is_read_of_a_client_that_goes_on_after_its_refusal(begin):
    connection = begin(LENGTH, token=False)
    assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")
    sent = 0
    with suppress(ConnectionError):
        while sent < LENGTH:
            connection.sendall(b"x" * MIB)
            sent += MIB

    # The kernel's buffers among it.
    assert sent < 20 * MIB


def test_an_upload_is_asked_for_once_it_is_allowed(begin):
    body = START + b"x" * MIB + END
    connection = begin(len(body), "Expect: 100-continue\r\n")
    asked = connection.recv(4096)
    connection.sendall(body)

    assert asked == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_body_that_is_too_large_is_refused_at_once(begin):
    assert begin(3 * LENGTH).recv(4096).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("more", [100, MIB])
def test_a_process_outlives_a_disk_that_is_full(server, session, more):
    [worker] = server.workers()
    before = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    # A little more than fits is buffered until the file is read, or closed.
    body = START + b"x" * (2 * MIB + more) + END
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (2 * MIB, before[1]))
    try:
        answer = session.post(
            f"{server.url}/api/bigs/files/upload", data=body, headers={"Content-Type": FORM}
        )
        eventually(lambda: files_of(server) == [])
    finally:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, before)

    assert answer.status_code == 503
    assert answer.json()["error"]["statusCode"] == 503
    assert server.workers() == [worker]


def test_a_process_receives_a_bounded_number_of_uploads_and_half_of_them_for_one(server, begin):
    def begin_from(network):
        return begin(LENGTH, f"X-Forwarded-For: 192.0.2.{network}\r\n")

    connections = [begin_from(0) for _ in range(8)]
    eventually(lambda: len(files_of(server)) == 8)
    answers = [begin_from(0).recv(4096)]
    connections += [begin_from(network) for network in range(1, 9)]
    eventually(lambda: len(files_of(server)) == 16)
    answers.append(begin_from(9).recv(4096))
    for connection in connections:
        connection.close()

    for answer in map(read_answer, answers):
        assert (answer.status, answer.fields["retry-after"]) == (503, "5")
        assert b"TOO_MANY_UPLOADS" in answer.body
    eventually(lambda: files_of(server) == [])
