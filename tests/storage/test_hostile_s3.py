"""An S3 service that answers something else than S3 does."""

import socketserver
import threading
from contextlib import suppress

import pytest

from tests.support.answers import refusal

from .conftest import send

BLOCK = b"<a/>" * 16384
# Blocks of an answer that nobody may read to its end.
MANY = 1000
BOMB = (
    b'<!DOCTYPE l [<!ENTITY a "%b">' % (b"a" * 64)
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 20) for n in range(8))
    + b"]><ListBucketResult><Name>&i;</Name></ListBucketResult>"
)


def answer(body=b"", *fields, status="200 OK"):
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode() + body


HEAD = answer(
    b"0123456789", 'ETag: "x"', "Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT"
).removesuffix(b"0123456789")
ERROR = b"<Error><Code>\x1b[31m%b\nAccessKey</Code></Error>" % (b"x" * 200)
UNUSABLE = {
    "no XML": answer(b"\xff<<"),
    "nothing": answer(),
    "other XML": answer(b"<a><b/></a>"),
    "deep XML": answer(b"<a>" * 50_000 + b"</a>" * 50_000),
    "entities": answer(BOMB),
    "no values": answer(b"<ListBucketResult><Contents/></ListBucketResult>"),
    "wrong head": answer(b"", "Last-Modified: never", 'ETag: "x"'),
    "a long error": answer(ERROR, status="400 Bad Request"),
}


class Service(socketserver.ThreadingTCPServer):
    """Sends `answer` whatever is asked, or `head` for HEAD; counts the blocks of an endless one.

    Notes the first line of each request.
    """

    daemon_threads = True
    answer = head = b""
    sent = 0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.asked = []

    def send_without_end(self, file, start):
        file.write(start)
        for _ in range(MANY):
            file.write(BLOCK)
            self.sent += 1


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        head = iter(self.rfile.readline, b"\r\n")
        fields = [line.decode().lower() for line in head]
        lengths = (line.split(":")[1] for line in fields if line.startswith("content-length:"))
        self.rfile.read(int(next(lengths, "0")))
        server = self.server
        server.asked.append(fields[0])
        given = (fields[0].startswith("head ") and server.head) or server.answer
        with suppress(OSError):
            if given.endswith(b"\r\n\r\n") and given is not server.head:
                server.send_without_end(self.wfile, given)
            else:
                self.wfile.write(given)


@pytest.fixture
def hostile(serve_files):
    """Containers in an S3 service whose answers a test chooses."""
    with Service(("127.0.0.1", 0), Handler) as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.02,))
        thread.start()
        address = f"http://127.0.0.1:{service.server_address[1]}"
        files = serve_files(provider="amazon", endpoint=address, keyId="k", key="s")
        files.service = service
        yield files
        service.shutdown()
        thread.join()


def calls(files):
    """Call every endpoint; return the statuses."""
    paths = ("", "/photos", "/photos/files", "/photos/files/a.txt", "/photos/download/a.txt")
    answers = [files.call("GET", path) for path in paths]
    answers += [files.call("DELETE", path) for path in ("/photos/files/a.txt", "/photos")]
    answers += [files.call("POST", "", json={"name": "photos"}), send(files, ("a.txt", b"a", ""))]
    return [each.status_code for each in answers]


def test_an_answer_that_cannot_be_used_is_no_error_of_the_service(hostile, caplog):
    for name, given in UNUSABLE.items():
        hostile.service.answer = given
        # Of some calls nothing is read but the status.
        statuses = calls(hostile)
        assert {*statuses} <= {200, 204, 409, 503}, name
        assert statuses[2] == 503, name

    assert "AccessKey" not in caplog.text
    assert "\x1b" not in caplog.text


def test_no_redirect_of_s3_is_followed(hostile):
    with Service(("127.0.0.1", 0), Handler) as inner:
        address = f"127.0.0.1:{inner.server_address[1]}"
        body = f"<Error><Code>PermanentRedirect</Code><Endpoint>{address}</Endpoint></Error>"
        fields = (f"Location: http://{address}/", "x-amz-bucket-region: example/#")
        for status in ("301 Moved Permanently", "307 Temporary Redirect"):
            hostile.service.answer = answer(body.encode(), *fields, status=status)
            assert {*calls(hostile)} == {503}
        inner.socket.settimeout(0)
        with pytest.raises(BlockingIOError):
            inner.socket.accept()


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden"])
def test_of_an_answer_without_end_little_is_read(hostile, status):
    hostile.service.answer = f"HTTP/1.1 {status}\r\n\r\n".encode()

    assert hostile.call("GET", "/photos/files").status_code == 503
    # It is tried twice, and the kernel's buffers are among it.
    assert hostile.service.sent < MANY / 2


def test_a_bucket_with_more_files_than_a_call_deletes_stays_as_it_is(hostile):
    more = b"<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
    first = b"<Contents><Key>a.txt</Key></Contents>"
    hostile.service.answer = answer(b"<ListBucketResult>%b</ListBucketResult>" % (more + first))

    assert refusal(hostile.call("DELETE", "/photos")) == (409, "CONTAINER_NOT_EMPTY")
    [asked] = hostile.service.asked
    assert asked.startswith("get /photos?")


def test_a_file_of_another_length_than_its_head_has_is_not_sent(hostile):
    hostile.service.head = HEAD
    statuses = []
    for given in (answer(b"012"), answer(b"0123456789a"), b"HTTP/1.1 206 OK\r\n\r\n"):
        hostile.service.answer = given
        statuses.append(hostile.call("GET", "/photos/download/a.txt").status_code)
    hostile.service.answer = answer(b"0123456789")
    whole = hostile.call("GET", "/photos/download/a.txt")

    assert statuses == [503, 503, 503]
    assert hostile.service.sent < MANY / 2
    assert whole.data == b"0123456789"
