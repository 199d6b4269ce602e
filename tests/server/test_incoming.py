"""How requests are read from the bytes received, beside gunicorn's reading of the same bytes."""

import sys
from contextlib import suppress
from random import Random

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from app.server.bodies import TooLargeBody
from app.server.incoming import IncomingRequest

CLIENT = ("127.0.0.1", 1)
MAX_BODY = 40
# Generated streams of requests; `python -m tests.server.test_incoming 100000` compares more.
STREAMS = 5000

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

VERSIONS = ["1.1"] * 30 + ["1.0", "1.2", "0.9", "2.0", "1.10", "1"]
LENGTHS = ["0", "5", "05", "5".rjust(25, "0"), "40", "41", "9" * 25, "+5", "-5", "5_0", "5, 5"]
LENGTHS += ["", "5 5", "0x5", "5.0", "\xb2", "5\x0b", "5\0", "5;"]
CODINGS = ["chunked"] * 30 + ["Chunked", "chunked ", "gzip, chunked", "chunked, chunked", ""]
CODINGS += ["identity", "\x0bchunked", "chunked;a=b", "chunked\r\n , chunked"]
FIELDS = ["Host: x", "A: b", "Expect: 100-continue", "Content_Length: 9", "Connection: close"]
FIELDS += ["Content-Length : 9", " Content-Length: 9", "Content-Length\t: 9", "A:", ":"]
SIZES = ["{:x}"] * 8 + ["{:X}", "{:025x}", "0x{:x}", "+{:x}", "-{:x}", "{:x} ", " {:x}", "{:x}_0"]
EXTENSIONS = [""] * 8 + [";a", ";a=b", " ;a", ';a="\\"b"', ";", ";\n", ";\r", ";a b"]
EXTENSIONS += [f";{'a' * 1030}"]
TRAILERS = [""] * 20 + ["A: b\r\n", "Content-Length: 5\r\n", "A b\r\n", "A: b\n", "\r", " A: b\r\n"]
# What is put somewhere into one stream of three.
ODDITIES = [b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\0", b" ", b"\t", b"0", b";", b":", b",", b"\xff"]


def make_cfg():
    """Return gunicorn's settings, with those of gunicorn.conf.py that the parser knows."""
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


def test_requests_end_where_gunicorn_ends_them():
    ends = [compare(seed) for seed in range(STREAMS)]

    # Both sides of the comparison were met.
    assert sum(ends) > STREAMS / 3
    assert ends.count(0) > STREAMS / 10


def compare(seed):
    """Read a generated stream with both; return how many requests were complete."""
    random = Random(seed)
    stream = make_stream(random)
    ours, waits = read(stream, random)
    theirs = read_with_gunicorn(stream)

    assert ours == theirs[: len(ours)], (seed, stream)
    # A request that gunicorn finds complete is not waited for.
    assert not waits or len(ours) == len(theirs), (seed, stream)
    return len(ours)


def make_stream(random):
    stream = bytearray(b"".join(make_request(random) for _ in range(random.randint(1, 3))))
    if random.random() < 0.3:
        place = random.randint(0, len(stream))
        stream[place : place + random.randint(0, 2)] = random.choice(ODDITIES)
    if random.random() < 0.2:
        del stream[random.randint(0, len(stream)) :]
    return bytes(stream)


def make_request(random):
    fields = random.choices(FIELDS, k=random.randint(0, 2)) if random.random() < 0.2 else []
    body = b""
    for _ in range(random.choice([0, *[1] * 12, 2])):
        if random.random() < 0.5:
            length = random.choice(LENGTHS if random.random() < 0.2 else LENGTHS[:5])
            fields.append(f"Content-Length: {length}")
            body = b"x" * (int(length) if length.isdecimal() and len(length) < 20 else 5)
        else:
            fields.append(f"Transfer-Encoding: {random.choice(CODINGS)}")
            body = make_chunks(random)
    random.shuffle(fields)
    line = f"{random.choice(['GET', 'POST'])} / HTTP/{random.choice(VERSIONS)}"
    return "".join(f"{each}\r\n" for each in [line, *fields, ""]).encode("latin-1") + body


def make_chunks(random):
    sizes = [random.randint(1, 30) for _ in range(random.randint(0, 3))]
    parts = [make_size(random, size) + f"{'y' * size}\r\n" for size in sizes]
    trailers = random.choice(TRAILERS)
    return f"{''.join(parts)}{make_size(random, 0)}{trailers}\r\n".encode("latin-1")


def make_size(random, size):
    if random.random() < 0.9:
        return f"{size:x}\r\n"
    return f"{random.choice(SIZES).format(size)}{random.choice(EXTENSIONS)}\r\n"


def read(stream, random):
    """Return the end and body of each request, received in pieces, and whether one is awaited."""
    found, position = [], 0
    incoming, rest = IncomingRequest(CFG, CLIENT, MAX_BODY), b""
    while rest or position < len(stream):
        piece = rest or stream[position : position + random.choice([1, 7, 1000])]
        position += 0 if rest else len(piece)
        try:
            complete = incoming.add(piece)
        except ParseException:
            return found, False
        rest = b""
        if complete:
            if isinstance(incoming.request.body, TooLargeBody):
                return found, False
            found.append((position - len(incoming.data), incoming.request.body.read()))
            rest = bytes(incoming.data)
            incoming = IncomingRequest(CFG, CLIENT, MAX_BODY)
    return found, True


def read_with_gunicorn(stream):
    """Return the end and body of each request, as gunicorn reads them."""
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
            found.append((len(stream) - len(rest), body))
    return found


if __name__ == "__main__":
    print(sum(compare(seed) for seed in range(int(sys.argv[1]))))  # noqa: T201
