"""Bodies of requests: when they are complete, and their limits."""

from io import BytesIO
from types import SimpleNamespace

import pytest
from gunicorn.http.errors import InvalidChunkSize, LimitRequestHeaders
from werkzeug.exceptions import RequestEntityTooLarge

from app.server.bodies import (
    MAX_CHUNKS,
    MAX_SIZE_LINE,
    MAX_TRAILERS,
    ChunkedBody,
    ChunkedUpload,
    SizedBody,
    SizedUpload,
    TooLargeBody,
)

REST = b"GET / HTTP/1.1"


def chunked(max_bytes=100):
    """A body in chunks of a request whose trailers are all right."""
    return ChunkedBody(SimpleNamespace(parse_headers=lambda *_, **__: []), max_bytes)


@pytest.mark.parametrize(
    ("length", "data", "expected", "rest"),
    [
        (0, b"", b"", b""),
        (0, REST, b"", REST),
        (3, b"ab", None, b"ab"),
        (3, b"abc", b"abc", b""),
        (3, b"abc" + REST, b"abc", REST),
    ],
)
def test_a_sized_body_is_taken_once_it_is_complete(length, data, expected, rest):
    received = bytearray(data)

    assert SizedBody(length, 3).take(received) == expected
    assert received == rest


@pytest.mark.parametrize(
    ("data", "expected", "rest"),
    [
        (b"", None, b""),
        (b"3", None, b"3"),
        (b"3\r\nabc", None, b"abc"),
        (b"3\r\nabc\r\n0\r\n", None, b""),
        (b"3\r\nabc\r\n0\r\n\r\n" + REST, b"abc", REST),
        (b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n" + REST, b"abcde", REST),
    ],
)
def test_a_chunked_body_is_taken_with_its_trailers(data, expected, rest):
    received = bytearray(data)

    assert chunked().take(received) == expected
    assert received == rest


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"65\r\n", RequestEntityTooLarge),
        (b"64\r\n" + b"x" * 100 + b"\r\n1\r\n", RequestEntityTooLarge),
        (b"1\r\nx\r\n" * (MAX_CHUNKS + 1), RequestEntityTooLarge),
        (b"0" * MAX_SIZE_LINE, InvalidChunkSize),
        (b"0\r\n" + b"A: b\r\n" * (MAX_TRAILERS // 6 + 1), LimitRequestHeaders),
    ],
)
def test_a_body_beyond_a_limit_is_refused_before_all_of_it_is_received(data, error):
    with pytest.raises(error):
        chunked().take(bytearray(data))


def test_a_body_has_a_limited_number_of_chunks():
    with pytest.raises(InvalidChunkSize):
        chunked(max_bytes=10_000).take(bytearray(b"1\r\nx\r\n" * (MAX_CHUNKS + 1)))


@pytest.mark.parametrize("method", ["read", "readline", "readlines", "__iter__"])
def test_a_body_that_is_too_large_cannot_be_read(method):
    with pytest.raises(RequestEntityTooLarge):
        getattr(TooLargeBody(), method)()
    with pytest.raises(RequestEntityTooLarge):
        SizedBody(4, 3).take(bytearray())


def chunked_upload(max_bytes=100):
    """A body in chunks that a file receives."""
    return ChunkedUpload(SimpleNamespace(parse_headers=lambda *_, **__: []), max_bytes, BytesIO())


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_a_file_receives_an_upload_as_it_comes(step):
    sent = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n" + REST
    chunks, sized, data = chunked_upload(), SizedUpload(5, BytesIO()), bytearray()
    received, plain, file = None, None, bytearray()
    for start in range(0, len(sent), step):
        data += sent[start : start + step]
        received = received or chunks.take(data)
    for start in range(0, 8, step):
        file += b"abcdeGET"[start : start + step]
        plain = plain or sized.take(file)

    assert received.getvalue() == plain.getvalue() == b"abcde"
    assert data == REST


def test_an_upload_in_chunks_has_limits():
    tiny = bytearray(b"1\r\na\r\n" * (MAX_CHUNKS + 1))

    with pytest.raises(InvalidChunkSize):
        chunked_upload(MAX_CHUNKS * 2).take(tiny)
    with pytest.raises(RequestEntityTooLarge):
        chunked_upload().take(bytearray(b"65\r\n"))
    chunked_upload(10**9).take(bytearray(b"2710\r\n" + b"a" * 10_000 + b"\r\n") * 2_000)
