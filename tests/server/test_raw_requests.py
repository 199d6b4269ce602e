"""Requests sent through a socket: malformed, incomplete, slow or too large."""

import json
import shutil
import socket
from urllib.parse import urlsplit

import pytest
import requests

from app.server.incoming import MAX_HEAD, MAX_LINE
from tests.support.live import serve
from tests.support.raw_answers import read_answer, read_answers
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

SECRET = "planted-secret"
POST = "POST /api/users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CLOSE = "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FIELD = "a: b\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    """A server that waits for a request for two seconds."""
    folder = tmp_path_factory.mktemp("raw")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    settings = {"THREADS": "2", "APP_REQUEST_TIMEOUT": "2"}
    with serve(folder, f"sqlite:///{folder}/ostiary.sqlite", **settings) as server:
        yield server


def connect(server):
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def send(server, text):
    """Send text as it is; return all that comes until the server closes the connection."""
    with connect(server) as connection:
        connection.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
        return receive(connection)


def receive(connection):
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received.decode("latin-1")


def refused(received):
    """Check that a response has the error format and closes the connection; return status, code."""
    answer = read_answer(received.encode("latin-1"))
    found = json.loads(answer.body)
    assert answer.fields["connection"] == "close"
    assert {"date", "x-request-id"} <= answer.fields.keys()
    assert answer.fields["content-type"] == "application/json"
    assert answer.fields["content-length"] == str(len(answer.body))
    assert found["status"] == found["error"]["statusCode"] == answer.status
    return answer.status, found["error"].get("code")


REFUSED = {
    "no HTTP": ("hello\r\n\r\n", (400, "BAD_REQUEST")),
    "no version": ("GET /\r\n\r\n", (400, "BAD_REQUEST")),
    "a version that is not spoken": ("GET / HTTP/9.9\r\n\r\n", (400, "BAD_REQUEST")),
    "a space in the path": ("GET /a b HTTP/1.1\r\n\r\n", (400, "BAD_REQUEST")),
    "NUL in the path": ("GET /\0 HTTP/1.1\r\n\r\n", (400, "BAD_REQUEST")),
    "a path that is not ASCII": ("GET /\xe9 HTTP/1.1\r\n\r\n", (400, "BAD_REQUEST")),
    "a bare line feed": ("GET / HTTP/1.1\nHost: x\n", (400, "BAD_REQUEST")),
    "a header without a colon": ("GET / HTTP/1.1\r\nHost\r\n\r\n", (400, "BAD_REQUEST")),
    "two hosts": ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", (400, "BAD_REQUEST")),
    "two lengths": (POST + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", (400, "BAD_REQUEST")),
    "length and chunks": (
        POST + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        (400, "BAD_REQUEST"),
    ),
    "an unknown transfer coding": (
        POST + "Transfer-Encoding: rot13, chunked\r\n\r\n0\r\n\r\n",
        (501, None),
    ),
    "a known coding that is not decoded": (
        POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        (501, None),
    ),
    "chunks of HTTP/1.0": (CHUNKED.replace("1.1", "1.0") + "0\r\n\r\n", (400, "BAD_REQUEST")),
    "a length with a sign": (POST + "Content-Length: +1\r\n\r\nx", (400, "BAD_REQUEST")),
    "a length with an underscore": (POST + "Content-Length: 1_0\r\n\r\nx", (400, "BAD_REQUEST")),
    "a list of lengths": (POST + "Content-Length: 1, 1\r\n\r\nx", (400, "BAD_REQUEST")),
    "no length": (POST + "Content-Length:\r\n\r\nx", (400, "BAD_REQUEST")),
    "a length in other digits": (POST + "Content-Length: \xb2\r\n\r\nx", (400, "BAD_REQUEST")),
    "a length of 5000 digits": (
        f"{POST}Content-Length: {'9' * 5000}\r\n\r\n",
        (400, "BAD_REQUEST"),
    ),
    "a field on two lines": (POST + "Content-Length:\r\n 1\r\n\r\nx", (400, "BAD_REQUEST")),
    "an unknown expectation": (
        "GET / HTTP/1.1\r\nExpect: tea\r\n\r\n",
        (417, "EXPECTATION_FAILED"),
    ),
    "a chunk without a size": (CHUNKED + "x\r\n", (400, "BAD_REQUEST")),
    "a chunk of negative size": (CHUNKED + "-1\r\n", (400, "BAD_REQUEST")),
    "a chunk size with a prefix": (CHUNKED + "0x1\r\n", (400, "BAD_REQUEST")),
    "a chunk size with an underscore": (CHUNKED + "1_0\r\n", (400, "BAD_REQUEST")),
    "a chunk size before a space": (CHUNKED + "1 \r\n", (400, "BAD_REQUEST")),
    "a long line with a size": (CHUNKED + "0" * 1025, (400, "BAD_REQUEST")),
    "a chunk longer than its size": (CHUNKED + "2\r\n{}x0\r\n\r\n", (400, "BAD_REQUEST")),
    "a chunk's extension with NUL": (
        CHUNKED + "2;\0\r\n{}\r\n0\r\n\r\n",
        (400, "BAD_REQUEST"),
    ),
    "trailers that frame": (
        CHUNKED + "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
        (400, "BAD_REQUEST"),
    ),
    "many chunks": (CHUNKED + "1\r\n \r\n" * 1001, (400, "BAD_REQUEST")),
    "a long line": (
        f"GET /{'x' * MAX_LINE} HTTP/1.1\r\n\r\n",
        (414, "REQUEST_URI_TOO_LONG"),
    ),
    "a long line without an end": ("G" * (MAX_LINE + 3), (414, "REQUEST_URI_TOO_LONG")),
    "a large header": (
        f"GET / HTTP/1.1\r\na: {'x' * MAX_LINE}\r\n\r\n",
        (431, "REQUEST_HEADER_FIELDS_TOO_LARGE"),
    ),
    "many headers": (
        f"GET / HTTP/1.1\r\n{FIELD * 101}\r\n",
        (431, "REQUEST_HEADER_FIELDS_TOO_LARGE"),
    ),
    "trailers without an end": (
        f"{CHUNKED}0\r\n{FIELD * (MAX_HEAD // 6 + 1)}",
        (431, "REQUEST_HEADER_FIELDS_TOO_LARGE"),
    ),
    "headers without an end": (
        f"GET / HTTP/1.1\r\n{FIELD * (MAX_HEAD // 6)}",
        (431, "REQUEST_HEADER_FIELDS_TOO_LARGE"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_http_is_rejected_in_the_error_format(server, name):
    text, expected = REFUSED[name]

    assert refused(send(server, text)) == expected


HEAD = {
    "in its head": "HEAD / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n",
    "after an empty line": "\r\nHEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "in its line": "HEAD /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    "in its coding": CHUNKED.replace("POST", "HEAD").replace("chunked", "gzip, chunked"),
    "in its body": CHUNKED.replace("POST", "HEAD") + "x\r\n",
}


@pytest.mark.parametrize("name", HEAD)
def test_the_answer_to_head_has_no_body_when_the_request_is_malformed(server, name):
    answer = read_answer(send(server, HEAD[name]).encode("latin-1"), "HEAD")

    assert 400 <= answer.status <= 501
    assert int(answer.fields["content-length"]) > 0


def test_an_encoded_slash_does_not_end_a_segment_of_a_path(server):
    login = send(server, CLOSE.format("/api/users%2Flogin"))
    absolute = send(server, CLOSE.format("http://x/api/users%2flogin"))

    assert [answer.split()[1] for answer in (login, absolute)] == ["404", "404"]
    assert send(server, CLOSE.format("/api/users/login")).split()[1] == "400"


def test_malformed_chunks_are_answered_once_whatever_the_path(server):
    chunked = CHUNKED.replace("/api/users/login", "/nowhere")

    answer = send(server, f"{chunked}2\r\n{{}}x0\r\n\r\n")

    assert refused(answer) == (400, "BAD_REQUEST")


def test_the_content_of_malformed_requests_is_not_logged(server):
    quoting = [
        f"GET /api/todos?access_token={SECRET} HTTP/1.1\r\nHost: x\r\n",
        f"GET /api/todos%3Faccess_token={SECRET} HTTP/1.1\r\nHost: x\r\n",
        f"GET /api/todos%253Faccess_token={SECRET} HTTP/1.1\r\nHost: x\r\n",
        f"GET /api/todos#access_token={SECRET} HTTP/1.1\r\nHost: x\r\n",
        f"GET /?{SECRET} x HTTP/1.1\r\nHost: x\r\n",
        f"GET /{SECRET}\0 HTTP/1.1\r\nHost: x\r\n",
        f"{SECRET} / HTTP/1.1\r\nHost: x\r\n",
        f"GET / {SECRET}\r\nHost: x\r\n",
        f"GET / HTTP/1.1\r\nAuthorization {SECRET}\r\n",
        f"GET / HTTP/1.1\r\n{SECRET} : x\r\n",
        f"GET / HTTP/1.1\r\nExpect: {SECRET}\r\n",
        f"{POST}Transfer-Encoding: {SECRET}\r\n",
        f"{POST}Content-Length: {SECRET}\r\n",
    ]
    for text in quoting:
        send(server, f"{text}Connection: close\r\n\r\n")
    send(server, f'{POST}Content-Length: 0\r\n\r\n{{"password": "{SECRET}"}}\r\n\r\n')
    send(server, f"{CHUNKED}{SECRET}\r\n\r\n")
    send(server, f"{CHUNKED}2\r\n{{}}{SECRET}\r\n")
    last = send(server, f"{CHUNKED}2;{SECRET}\0\r\n{{}}\r\n0\r\n\r\n")

    log = server.log.read_text()
    assert read_answer(last.encode("latin-1")).fields["x-request-id"] in log
    assert "refused a request of 127.0.0.1: 400 InvalidHeader" in log
    assert "refused a request of 127.0.0.1: 400 InvalidRequestLine" in log
    assert SECRET not in log
    assert "Traceback" not in log


HALF = {
    "no byte": "",
    "a line": "GET /api/openapi.json",
    "a head": "GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n",
    "a body": POST + "Content-Length: 100\r\n\r\n{",
    "a body that was asked for": POST + "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n{",
    "a chunk": CHUNKED + "64\r\n\r\n\r\n0\r\n\r\n",
    "trailers": CHUNKED + "2\r\n{}\r\n0\r\nA: b\r\n",
}


def test_incomplete_requests_occupy_no_thread_and_time_out(server):
    connections = []
    for text in HALF.values():
        for _ in range(30):
            connections.append(connect(server))
            connections[-1].sendall(text.encode())

    # Four threads that wait two seconds for each would take over 100 s.
    served = requests.get(f"{server.url}/api/openapi.json", timeout=60)

    assert served.status_code == 200
    for connection in connections:
        assert receive(connection) in ("", "HTTP/1.1 100 Continue\r\n\r\n")
        connection.close()


# Half of each body, the length of which has more digits than a number of 64 bits.
LONG_NUMBERS = [
    f"{POST}Content-Length: {'2'.rjust(25, '0')}\r\n\r\n{{",
    f"{CHUNKED}{'2'.rjust(25, '0')}\r\n{{",
]


@pytest.mark.parametrize("text", LONG_NUMBERS)
def test_a_length_with_leading_zeros_is_read_like_any_other(server, text):
    connections = [connect(server) for _ in range(200)]
    for connection in connections:
        connection.sendall(text.encode())

    # Four threads that wait two seconds for each would be waited for.
    assert requests.get(f"{server.url}/health", timeout=60).status_code == 200
    for connection in connections:
        connection.close()
    whole = f"{text}}}\r\n0\r\n\r\n".replace("\r\n", "\r\nConnection: close\r\n", 1)
    assert send(server, whole).startswith("HTTP/1.1 400 ")


@pytest.mark.parametrize(("version", "spoken"), [("1.0", "1.0"), ("1.1", "1.1"), ("1.2", "1.1")])
def test_later_versions_are_answered_in_the_newest_that_is_spoken(server, version, spoken):
    answer = send(server, f"GET /health HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert answer.startswith(f"HTTP/{spoken} 200 OK\r\n")


def test_a_slow_request_is_closed_after_its_total_time(server):
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        eventually(lambda: _is_closed(connection))


def _is_closed(connection):
    """Send one more byte; return True if the other side has closed the connection."""
    try:
        connection.sendall(b"x")
    except ConnectionError:
        return True
    return False


def test_clients_that_keep_a_rejected_connection_open_do_not_block_others(server):
    connections = [connect(server) for _ in range(100)]
    for connection in connections:
        connection.sendall(b"hello\r\n\r\n")
    for connection in connections:
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")

    # One after the other, each would be waited for two seconds.
    assert requests.get(f"{server.url}/api/openapi.json", timeout=60).status_code == 200
    for connection in connections:
        connection.close()


def test_a_body_that_is_too_large_is_rejected_before_it_is_received(server):
    answer = send(server, POST + "Content-Length: 1000000\r\n\r\n")
    chunks = send(server, CHUNKED + "fffff\r\n" + "x" * 110_000)

    assert refused(answer) == refused(chunks) == (413, "PAYLOAD_TOO_LARGE")


def test_requests_sent_byte_by_byte_or_pipelined_are_answered(server):
    body = '{"email": "ada@example.com"}'
    first = f"{POST}Content-Length: {len(body)}\r\n\r\n{body}"
    second = f"{CHUNKED}{len(body):x};x=y\r\n{body}\r\n0\r\nA: b\r\n\r\n"
    third = "GET /nowhere HTTP/1.0\r\n\r\n"
    with connect(server) as connection:
        for byte in (first + second + third).encode():
            connection.sendall(bytes([byte]))
        trickled = receive(connection)

    together = send(server, first + second + third)

    for received in (trickled, together):
        answers = read_answers(received.encode("latin-1"), "POST", "POST", "GET")
        assert [answer.status for answer in answers] == [401, 401, 404]


def test_a_client_that_expects_100_continue_gets_it_once(server):
    with connect(server) as connection:
        head = f"{POST}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        told = connection.recv(100)
        connection.sendall(b"{}")
        answer = receive(connection)

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert read_answer(told + answer.encode("latin-1"), "POST").status == 400


def test_a_filter_of_16_kib_is_served(server):
    start, end = "GET /api/todos?filter=", " HTTP/1.1"
    line = start + "x" * (MAX_LINE - len(start) - len(end)) + end

    answer = send(server, f"{line}\r\nConnection: close\r\n\r\n")
    longer = send(server, f"{line.replace('=', '=x')}\r\nConnection: close\r\n\r\n")

    assert answer.startswith("HTTP/1.1 401 ")
    assert refused(longer) == (414, "REQUEST_URI_TOO_LONG")


def test_a_filter_in_a_header_of_16_kib_is_served(server):
    request = "GET /api/todos HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n"
    field = "filter: ".ljust(MAX_LINE - len("\r\n"), "x")

    answer = send(server, request.format(field))
    longer = send(server, request.format(f"{field}x"))

    assert answer.startswith("HTTP/1.1 401 ")
    assert refused(longer) == (431, "REQUEST_HEADER_FIELDS_TOO_LARGE")


def test_no_header_sets_the_prefix_or_the_scheme(server):
    headers = {"SCRIPT_NAME": "/evil", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/evil"}

    document = requests.get(f"{server.url}/api/openapi.json", headers=headers, timeout=60).json()

    assert document["servers"] == [{"url": "/api"}]


@pytest.mark.parametrize("verb", ["OPTIONS", "TRACE", "CONNECT", "BREW", "PROPFIND"])
@pytest.mark.parametrize(
    "target",
    [
        "/api/todos",
        "*",
        "http://evil.example/api/todos",
        "/%ff%00%zz",
        "//api",
        "/api/todos/%2e%2e",
    ],
)
def test_unusual_verbs_and_targets_are_answered(server, verb, target):
    answer = send(server, f"{verb} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    # What follows a successful CONNECT is no HTTP, and h11 reads it as such.
    assert 200 <= read_answer(answer.encode("latin-1"), verb.replace("CONNECT", "GET")).status < 500
