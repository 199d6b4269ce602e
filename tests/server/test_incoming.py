"""Requests are read from the bytes received, beside gunicorn's reading of the same bytes."""

import sys
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from app.server.bodies import TooLargeBody
from app.server.incoming import VERSION, IncomingRequest

CLIENT = ("127.0.0.1", 1)
MAX_BODY = 40
# Generated streams of requests; `python -m tests.server.test_incoming 100000` compares more.
STREAMS = 4000

REQUESTS = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\ncontent-length:  5 \r\n\r\n\r\n\r\n\r",
    b"POST / HTTP/1.1\r\ncontent-length: 0000000000000000000000005\r\n\r\n\r\n\r\n\r",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4\r\n\r\n\r\n\r\nA;x\r\n0123456789\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0000000000000000001 \t;a=b\r\nx\r\n00000000000000000000\r\n\r\n",
]

# What is usual comes first.
VERSIONS = ["1.1", "1.0", "1.2", "0.9", "2.0", "1.10", "1"]
COLONS = [": ", ":", ":\t", " : ", "\t:", ":\r\n ", "\r\n: ", ";"]
LENGTH_NAMES = ["Content-Length", "content-length", " Content-Length", "Content_Length"]
LENGTH_NAMES += ["Content-Length\x0b", "Content-Length\0", "\xc3ontent-Length", "Content-Length,"]
LENGTHS = ["5", "0", "05", "5".rjust(25, "0"), "5 ", "40", "41", "9" * 25, "+5", "-5", "5_0"]
LENGTHS += ["5, 5", "5,5", "", "5 5", "0x5", "5.0", "\xb2", "5\x0b", "5\0", "5;", "5\r\n 0"]
CODING_NAMES = ["Transfer-Encoding", "transfer-encoding", " Transfer-Encoding"]
CODING_NAMES += ["Transfer_Encoding", "Transfer-Encoding\x0b", "Transfer Encoding"]
CODINGS = ["chunked", "Chunked", "chunked ", "gzip, chunked", "chunked, gzip", "chunked, chunked"]
CODINGS += ["", "identity", "\x0bchunked", "chunked;a=b", "chunked\r\n , chunked", "xchunked"]
CODINGS += ["identity, chunked", '"chunked"', "chunked,", ",chunked", "x"]
OTHERS = ["Host: x", "A: b", "Expect: 100-continue", "Connection: close", "A:", ":", "A", "\xff: x"]
BODIES = ["x" * 40, "GET /smuggled HTTP/1.1\r\nA: b\r\n\r\n0\r\n\r\n", "0\r\n\r\n" * 8]
SIZES = ["{:x}", "{:X}", "{:025x}", "0x{:x}", "+{:x}", "-{:x}", "{:x} ", " {:x}", "{:x}_0", "{:x}g"]
EXTENSIONS = ["", ";a", ";a=b", " ;a", ';a="\\"b"', ";", ";\n", ";\r", ";a b", ";a=", ";a;;b", "\t"]
EXTENSIONS += [f";{'a' * 1030}"]
CHUNK_ENDS = ["\r\n", "", "\n", "\n\n", "\r", "xx", "\r\r\n", "\r\n\r\n"]
TRAILERS = ["", "A: b\r\n", "Content-Length: 5\r\n", "A b\r\n", "A: b\n", "\r", " A: b\r\n"]
TRAILERS += ["Transfer-Encoding: chunked\r\n", "A: b\r\n c\r\n", "\r\n", "A: b"]
# What is put somewhere into a stream.
ODDITIES = [b"", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b"\r\r\n", b"\0", b" ", b"\t", b"0"]
ODDITIES += [b";", b":", b",", b"\xff", b"\x0b", b"\x85", b"0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"]
ENDS = ["\r\n", "\n", "\r", "\r\r\n", "\r\n "]


class Read(NamedTuple):
    """A request that was read: where it ends, its head and its body."""

    end: int
    head: tuple
    body: bytes


def make_cfg():
    """Return gunicorn's settings, with those of ours that the parser knows."""
    cfg = Config()
    cfg.set("limit_request_line", 0)
    cfg.set("forwarder_headers", "")
    cfg.set("secure_scheme_headers", {})
    return cfg


CFG = make_cfg()


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_is_complete_only_with_its_last_byte(request_):
    incoming = IncomingRequest(CFG, CLIENT, MAX_BODY)
    complete = [incoming.add(bytes([byte])) for byte in request_]
    together = IncomingRequest(CFG, CLIENT, MAX_BODY)

    assert complete.index(True) == len(request_) - 1
    assert together.add(request_ + b"GET / HTTP/1.1")
    assert together.data == b"GET / HTTP/1.1"


def test_requests_are_the_same_wherever_they_are_split():
    stream = b"".join(REQUESTS)
    whole, waits = read(stream)

    assert [found.end for found in whole] == [
        len(b"".join(REQUESTS[: number + 1])) for number in range(len(REQUESTS))
    ]
    for place in range(len(stream)):
        assert read(stream, place) == (whole, waits)


def test_requests_end_where_gunicorn_ends_them():
    numbers = [compare(seed) for seed in range(STREAMS)]

    # Both sides of the comparison were met.
    assert sum(numbers) > STREAMS / 3
    assert numbers.count(0) > STREAMS / 10


def compare(seed):
    """Read a generated stream in several ways; return how many requests were complete."""
    random = Random(seed)
    stream = make_stream(random)
    places = random.choices(range(len(stream) + 1), k=4)
    theirs = read_with_gunicorn(stream)

    ours, waits = read(stream)

    assert ours == theirs[: len(ours)], (seed, stream)
    # A request that gunicorn finds complete is not waited for.
    assert not waits or len(ours) == len(theirs), (seed, stream)
    assert read(stream, *places) == (ours, waits), (seed, stream, places)
    assert read(stream, *range(len(stream))) == (ours, waits), (seed, stream)
    return len(ours)


def make_stream(random):
    """Return requests one after the other, parts of which may be changed, repeated or missing."""
    stream = bytearray(b"".join(make_request(random) for _ in range(random.randint(1, 3))))
    if random.random() < 0.3:
        for _ in range(random.randint(1, 2)):
            place = random.randint(0, len(stream))
            stream[place : place + random.randint(0, 3)] = random.choice(ODDITIES)
    if random.random() < 0.1:
        place, start = random.choices(range(len(stream) + 1), k=2)
        stream[place:place] = stream[start : start + random.randint(1, 30)]
    if random.random() < 0.2:
        del stream[random.randint(0, len(stream)) :]
    return bytes(stream)


def make_request(random):
    fields = random.choices(OTHERS, k=random.randint(0, 2)) if random.random() < 0.2 else []
    body = ""
    for _ in range(random.choice([0, *[1] * 12, 2])):
        if random.random() < 0.5:
            length = odd(random, [str(random.randint(0, 41)), *LENGTHS])
            fields.append(f"{odd(random, LENGTH_NAMES)}{odd(random, COLONS)}{length}")
            size = int(length) if length.isdecimal() and len(length) < 20 else 5
            body = random.choice(BODIES)[:size]
        else:
            coding = odd(random, CODINGS)
            fields.append(f"{odd(random, CODING_NAMES)}{odd(random, COLONS)}{coding}")
            body = make_chunks(random)
    random.shuffle(fields)
    line = f"{random.choice(['GET', 'POST'])} / HTTP/{odd(random, VERSIONS)}"
    head = "".join(f"{text}{odd(random, ENDS)}" for text in (line, *fields))
    return f"{head}\r\n{body}".encode("latin-1")


def make_chunks(random):
    sizes = [random.randint(1, 30) for _ in range(random.randint(0, 3))]
    parts = "".join(make_chunk(random, size) for size in sizes)
    return f"{parts}{make_size(random, 0)}{odd(random, TRAILERS)}\r\n"


def make_chunk(random, size):
    data = random.choice(BODIES)[:size]
    return f"{make_size(random, size)}{data}{odd(random, CHUNK_ENDS)}"


def make_size(random, size):
    return f"{odd(random, SIZES).format(size)}{odd(random, EXTENSIONS)}\r\n"


def odd(random, values):
    """Return one of the values, most often the first."""
    return values[0] if random.random() < 0.95 else random.choice(values)


def read(stream, *places):
    """Return the requests in a stream that is received in parts, and whether one is awaited."""
    cuts = sorted({0, len(stream), *(place for place in places if place < len(stream))})
    found, incoming = [], IncomingRequest(CFG, CLIENT, MAX_BODY)
    for start, end in pairwise(cuts):
        part = stream[start:end]
        while part:
            try:
                complete = incoming.add(part)
            except ParseException:
                return found, False
            part = b""
            if complete:
                if isinstance(incoming.request.body, TooLargeBody):
                    return found, False
                part = bytes(incoming.data)
                body = incoming.request.body.read()
                found.append(Read(end - len(part), head_of(incoming.request), body))
                incoming = IncomingRequest(CFG, CLIENT, MAX_BODY)
    return found, True


def read_with_gunicorn(stream):
    """Return the requests in a stream as gunicorn reads them."""
    found, unreader = [], IterUnreader([stream])
    with suppress(ParseException, OSError, StopIteration):
        while True:
            request = Request(CFG, unreader, CLIENT)
            length = getattr(request.body.reader, "length", 0)
            body = request.body.read()
            if len(body) < length:
                break
            rest = unreader.take_buffered()
            unreader.unread(rest)
            found.append(Read(len(stream) - len(rest), head_of(request), body))
    return found


def head_of(request):
    return request.method, request.uri, min(request.version, VERSION), request.headers


if __name__ == "__main__":
    print(sum(compare(seed) for seed in range(int(sys.argv[1]))))  # noqa: T201
