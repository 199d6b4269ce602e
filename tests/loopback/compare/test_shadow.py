"""`ostiary loopback compare --shadow`, through sockets, between services that send bytes."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests

from tests.support.documents import blocks
from tests.support.raw_answers import read_answer
from tests.support.waiting import eventually

from .servers import ok, raw_server, talk

pytestmark = pytest.mark.live

DOCUMENT = ok(b'{"paths": {}, "components": {"schemas": {}}}')
TOKEN = "0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ9999"
TRUNCATED = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n"


class Proxy:
    """The command, run as a user does, with an old and a new service behind it."""

    def __init__(self, old, new, process, port):
        self.old, self.new = old, new
        self.process, self.port = process, port
        self.url = f"http://127.0.0.1:{port}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=30)
        return self.process.returncode, out, errors


@contextmanager
def proxy(folder, *arguments):
    """Run the command of the document, on a port that is free, with more options."""
    [code] = blocks("docs/migration.md", "sh", "Shadow")
    command = code.strip().replace("ostiary", f"exec {sys.executable} -m ostiary", 1)
    with raw_server() as old, raw_server() as new:
        new.answers["GET /api/openapi.json"] = DOCUMENT
        addresses = {"OLD": f"{old.url}/api", "NEW": f"{new.url}/api"}
        with subprocess.Popen(
            ["bash", "-c", " ".join([command.replace("8080", "0"), *arguments])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, **addresses, "PYTHONUNBUFFERED": "1"},
        ) as process:
            try:
                line = process.stderr.readline()
                assert line.startswith("Serving on http://127.0.0.1:"), line
                yield Proxy(old, new, process, int(line.rpartition(":")[2]))
            finally:
                process.kill()


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    return tmp_path_factory.mktemp("shadow") / "moved.txt"


@pytest.fixture(scope="module")
def shared(moved):
    [moved_as_printed] = blocks("docs/migration.md", "text", "Shadow")
    moved.write_text(moved_as_printed)
    # Tests follow each other faster than the ten calls a second of the document.
    with proxy(moved.parent, "--rate 1000") as running:
        yield running


@pytest.fixture
def served(shared):
    """A proxy whose services have answered nothing yet."""
    for service in (shared.old, shared.new):
        service.answers.clear()
        service.requests.clear()
        service.bodies.clear()
    return shared


def fields_of(head):
    return dict(line.split(": ", 1) for line in head[1:])


def test_what_differs_is_reported_and_no_writing_call_is_sent_twice(tmp_path):
    with proxy(tmp_path, "--rate 1000 --except export --moved none.txt") as served:
        row = {"id": 1, "title": "Secret plan"}
        query = f"?access_token={TOKEN}"
        changed = {**row, "title": "X"}
        served.old.answers[f"GET /api/notes/1{query}"] = ok(json.dumps(row).encode())
        served.new.answers[f"GET /api/notes/1{query}"] = ok(json.dumps(changed).encode())
        packed = gzip.compress(b'{"count": 2}')
        served.old.answers["GET /api/notes/count"] = ok(packed, "Content-Encoding: gzip")
        served.new.answers["GET /api/notes/count"] = ok(b'{"count": 2}')
        for service in (served.old, served.new):
            service.answers["GET /api/large"] = ok(b"[" + b"1, " * 600_000 + b"1]")
        session = requests.Session()
        headers = {"If-None-Match": '"a"', "Accept-Encoding": "gzip"}
        got = session.get(f"{served.url}/api/notes/1{query}", headers=headers, timeout=60)
        assert got.json() == row
        assert session.get(f"{served.url}/api/notes/count", timeout=60).json() == {"count": 2}
        assert len(session.get(f"{served.url}/api/large", timeout=60).content) > 1_000_000
        eventually(lambda: len(served.new.requests) == 4)
        for path in ("users/logout", "Users/Confirm", "users/LOG%6fut", "export", "a/%2e%2e/b"):
            talk(served.port, f"GET /api/{path} HTTP/1.0\r\n\r\n".encode())
        session.get(f"{served.url}/index.html", timeout=60)
        for verb in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            session.request(verb, f"{served.url}/api/notes", json={"title": "x"}, timeout=60)
        session.request("GET", f"{served.url}/api/notes", data=b"with a body", timeout=60)
        status, out, errors = served.stop()

    assert status == 1
    assert len(served.old.requests) == 15
    verbs = {target.partition(" ")[0] for target in served.new.targets()}
    assert (len(served.new.requests), verbs) == (4, {"GET"})
    compared = fields_of(served.new.requests[1])
    assert "IF-NONE-MATCH" not in compared
    assert compared["Accept-Encoding"] == "identity"
    assert re.fullmatch(
        r"""Calls compared: 3; with differences: 1\.
Not compared, as their path is excepted: 5\.
Not compared, as they are not below the address of the API: 1\.
Sent to the old service alone, as they may write: 6\.

difference +documented +calls +example +place +old +new
value +no +1 +GET /notes/1 \(with a token\) +title +"Aaaaaa aaaa" +"A"
""",
        out,
    ), out
    for secret in (TOKEN, "Secret plan"):
        assert secret not in out + errors


def test_a_request_is_passed_on_as_it_is(served):
    served.old.answers["POST /api/a%2Fb/?x=%zz&y"] = ok(
        b"made",
        "Content-Type: text/plain",
        "Set-Cookie: a=1",
        "Set-Cookie: b=2",
        "Location: http://other/",
        "Connection: X-Hop",
        "X-Hop: 1",
        status="302 Found",
    )
    head = (
        "POST /api/a%2Fb/?x=%zz&y HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-For: 10.0.0.1\r\n"
        "Connection: close, X-Secret-Hop, X-Forwarded-For\r\nX-Secret-Hop: 1\r\nTE: trailers\r\n"
        "Proxy-Authorization: x\r\nX_Odd: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = talk(served.port, head.encode() + b"3\r\nabc\r\n4;x=1\r\ndefg\r\n0\r\n\r\n")
    [sent], [body] = served.old.requests, served.old.bodies
    assert sent[0] == "POST /api/a%2Fb/?x=%zz&y HTTP/1.1"
    assert fields_of(sent) == {
        "Host": "shop.example",
        "X_Odd": "1",
        "X-Forwarded-For": "10.0.0.1, 127.0.0.1",
        "X-Forwarded-Proto": "http",
        "Connection": "close",
        "Transfer-Encoding": "chunked",
    }
    assert body == b"abcdefg"
    assert answer == (
        b"HTTP/1.1 302 Found\r\nContent-Length: 4\r\nContent-Type: text/plain\r\nSet-Cookie: a=1"
        b"\r\nSet-Cookie: b=2\r\nLocation: http://other/\r\nConnection: close\r\n\r\nmade"
    )


def test_answers_end_as_those_of_the_service(served):
    big = os.urandom(3_000_000)
    served.old.answers |= {
        "GET /big": CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(big), big),
        "GET /until-close": b"HTTP/1.1 200 OK\r\n\r\nall of it",
        "HEAD /head": b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n",
        "GET /same": b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n',
        "DELETE /gone": b"HTTP/1.1 204 No Content\r\n\r\n",
    }
    # One connection, on which each answer must end where the next begins.
    with requests.Session() as session:

        def call(verb, path):
            response = session.request(verb, f"{served.url}{path}", timeout=60)
            return response.status_code, response.content

        assert call("GET", "/big") == (200, big)
        assert call("HEAD", "/head") == (200, b"")
        assert call("GET", "/same") == (304, b"")
        assert call("DELETE", "/gone") == (204, b"")
        assert call("GET", "/until-close") == (200, b"all of it")
        upload = b"x" * 2_000_000
        session.post(f"{served.url}/up", data=upload, timeout=60)
    assert served.old.bodies[-1] == upload
    # To a client of HTTP/1.0 the body ends with the connection.
    old_client = talk(served.port, b"GET /until-close HTTP/1.0\r\n\r\n")
    assert old_client == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"
    expecting = b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
    assert talk(served.port, expecting + b"Connection: close\r\n\r\nhi").startswith(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
    )


@pytest.mark.parametrize("body", [TRUNCATED, CHUNKED + b"5\r\nhello\r\n", CHUNKED + b"5\r\nhel"])
def test_an_answer_that_is_cut_off_is_cut_off_for_the_client_too(served, body):
    served.old.answers["GET /api/notes"] = body
    with pytest.raises(requests.RequestException):
        requests.get(f"{served.url}/api/notes", timeout=60)
    assert not served.new.requests


def test_a_service_that_fails_is_asked_once_and_answered_by_502(served):
    served.old.answers["POST /api/notes"] = lambda connection: connection.close()
    served.old.answers["GET /api/notes"] = b"no HTTP\r\n\r\n"
    for verb in ("POST", "GET"):
        response = requests.request(verb, f"{served.url}/api/notes", timeout=60)
        assert response.status_code == 502
        assert response.json()["error"]["statusCode"] == 502
    assert len(served.old.requests) == 2
    assert not served.new.requests


def test_a_service_that_answers_before_it_has_read_a_body_is_heard(served):
    line = "POST /api/files HTTP/1.1"
    refusal = ok(b"no", "Connection: close", status="413 Payload Too Large")
    served.old.early[line] = refusal
    head = f"{line}\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(head)
        eventually(lambda: served.old.requests)
        client.sendall(b"x" * 300_000)
        assert client.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert len(served.old.requests) == 1


def test_a_client_that_goes_away_inside_a_body_has_sent_nothing(served):
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(b"POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
    eventually(lambda: served.old.bodies)
    assert served.old.bodies == [b"abc"]
    assert requests.get(f"{served.url}/ok", timeout=60).status_code == 200


@pytest.mark.parametrize("chunks", [b"zz\r\nabc\r\n", b"0x3\r\nabc\r\n", b"3\r\nabcd0\r\n\r\n"])
def test_malformed_chunks_are_refused_and_end_the_request_to_the_service(served, chunks):
    head = b"POST /api/notes HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert read_answer(talk(served.port, head + chunks), "POST").status == 400
    # Its head was passed on before.
    eventually(lambda: len(served.old.requests) == 1)


@pytest.mark.parametrize(
    "lines",
    [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\rTransfer-Encoding: chunked",
        "GET / HTTP/1.1\r\nHost: a\nX: a",
        "GET / HTTP/1.1\r\nHost : a",
        "GET / HTTP/1.1\r\nHost: a\r\n folded: b",
        "GET /a b HTTP/1.1\r\nHost: a",
        "GET /a#b HTTP/1.1\r\nHost: a",
        "GET ftp://a/b HTTP/1.1\r\nHost: a",
        "GET http://user@a/b HTTP/1.1\r\nHost: a",
        "CONNECT a:80 HTTP/1.1\r\nHost: a",
        "GET nothing HTTP/1.1\r\nHost: a",
        "GET /" + "x" * 200_000 + " HTTP/1.1\r\nHost: a",
    ],
)
def test_an_ambiguous_request_is_refused_and_reaches_no_service(served, lines):
    answer = read_answer(talk(served.port, f"{lines}\r\n\r\nabc".encode()))
    assert answer.status in (400, 501, 431)
    assert not served.old.requests
    assert not served.new.requests


def test_an_absolute_request_goes_to_the_service_and_to_no_other_host(served):
    talk(served.port, b"GET http://elsewhere.example/a?b HTTP/1.0\r\nHost: mine\r\n\r\n")
    [sent] = served.old.requests
    assert sent[0] == "GET /a?b HTTP/1.1"
    assert fields_of(sent)["Host"] == "elsewhere.example"


def test_a_slow_client_and_a_slow_service_hold_up_nobody(served):
    release = threading.Event()
    served.old.answers["GET /slow"] = lambda connection: (
        release.wait(20),
        connection.sendall(ok(b"late")),
    )
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.sendall(b"GET / HT")
        late = threading.Thread(
            target=requests.get, args=(f"{served.url}/slow",), kwargs={"timeout": 20}
        )
        late.start()
        assert requests.get(f"{served.url}/quick", timeout=60).status_code == 200
        release.set()
        late.join()


def until_moved(served, probe):
    """Wait until the proxy has read the file again, by a path that moves with it; forget that."""

    def is_moved():
        talk(served.port, f"GET {probe} HTTP/1.0\r\n\r\n".encode())
        return f"GET {probe} HTTP/1.1" in served.new.targets()

    eventually(is_moved)
    served.old.requests.clear()
    served.new.requests.clear()


def test_a_path_moves_when_the_file_says_so_and_not_more_than_it_says(served, moved):
    talk(served.port, b"GET /api/Tools/1 HTTP/1.0\r\n\r\n")
    assert served.new.targets() == ["GET /api/Tools/1 HTTP/1.1"]
    assert not served.old.requests
    served.new.requests.clear()
    lines = [
        "# moved",
        "",
        "/api/Notes/",
        "api/todos",
        "/api/*",
        "/a/../api",
        "/api//x",
        "/o?p",
        "/probe/1",
    ]
    moved.write_text("\n".join(lines))
    until_moved(served, "/probe/1")
    paths = [
        *("/api/notes", "/API/NOTES/1?x=/api/users", "/api/notes/a%2Fb", "/api/notesbook"),
        *("/api/todos", "/api//notes", "//api/notes", "/api/notes//1", "/api/notes/../users"),
        *("/api/notes/%2e%2E/users", "/api/notes/..%2fusers", "/api/n%6ftes", "/x/api/notes"),
        *("/api/users/../notes", "/api/./notes", "/api/users/%2e%2e/Note%73", "/api%2fnotes"),
    ]
    for path in paths:
        talk(served.port, f"POST {path} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
    absolute = b"POST http://h/api/notes HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
    talk(served.port, absolute)
    to_new = [
        *("/api/notes", "/API/NOTES/1?x=/api/users", "/api/notes/a%2Fb"),
        # What the old service, or a server in front of it, reads as such a path.
        *("/api//notes", "//api/notes", "/api/notes//1", "/api/n%6ftes", "/api/users/../notes"),
        *("/api/./notes", "/api/users/%2e%2e/Note%73", "/api%2fnotes", "/api/notes"),
    ]
    assert served.new.targets() == [f"POST {path} HTTP/1.1" for path in to_new]
    assert served.old.targets() == [f"POST {path} HTTP/1.1" for path in paths if path not in to_new]
    reported = [served.process.stderr.readline() for _ in range(5)]
    assert reported == [
        f"moved.txt, line {number} is no path, and is ignored.\n" for number in range(4, 9)
    ]
    # What cannot be read changes nothing, until it can be read again.
    moved.unlink()
    # Its report is the next line.
    with ThreadPoolExecutor(1) as threads:
        report = threads.submit(served.process.stderr.readline)
        eventually(lambda: talk(served.port, b"GET / HTTP/1.0\r\n\r\n") and report.done())
    assert report.result() == "moved.txt cannot be read; the paths before it hold on.\n"
    talk(served.port, b"DELETE /api/notes HTTP/1.0\r\n\r\n")
    assert served.new.targets()[-1] == "DELETE /api/notes HTTP/1.1"
    moved.write_text("/probe/2")
    until_moved(served, "/probe/2")
    talk(served.port, b"DELETE /api/notes HTTP/1.0\r\n\r\n")
    assert served.old.targets()[-1] == "DELETE /api/notes HTTP/1.1"


@pytest.mark.parametrize(
    ("target", "calls"),
    [("/api//[a", 0), (f"/api/x?{'a&' * 200}", 0), ("/api/%ff?filter=[[[", 1)],
)
def test_what_cannot_be_compared_is_answered_all_the_same(served, target, calls):
    answer = talk(served.port, f"GET {target} HTTP/1.0\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert served.old.targets() == [f"GET {target} HTTP/1.1"]
    # Another test must not get to see it.
    eventually(lambda: len(served.new.requests) == calls)
