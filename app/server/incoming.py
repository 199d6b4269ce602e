"""Requests, read from the bytes received, so that no thread waits for missing ones."""

import re
from io import BytesIO
from typing import Any

from gunicorn.config import Config
from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import (
    InvalidRequestLine,
    LimitRequestHeaders,
    LimitRequestLine,
    UnsupportedTransferCoding,
)
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from werkzeug.exceptions import RequestEntityTooLarge

from .bodies import ChunkedBody, SizedBody, TooLargeBody

#: Bytes of a request line; Node.js accepts as much for a whole head.
MAX_LINE = 16 * 1024
#: Bytes of a request line and its header fields together.
MAX_HEAD = 64 * 1024
# The newest version that is spoken: requests of a later 1.x are answered in it (RFC 9110, 2.5).
VERSION = (1, 1)
# A host and a port, and two more numbers with IPv6; of a Unix socket, its path.
Address = tuple[str, int] | tuple[str, int, int, int] | str

BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")


class BufferedRequest(Request):
    """A request whose head gunicorn has parsed, and whose body is not read from the connection."""

    method: str
    path: str
    version: tuple[int, int]  # type: ignore[assignment]
    headers: list[tuple[str, str]]
    # gunicorn's, until all of it was received.
    body: Any
    # Seconds that it waited for its turn to compute a password hash.
    waited = 0.0


class IncomingRequest:
    """The bytes of one request received so far; each byte is examined once.

    gunicorn's parser reads the head as soon as it is complete, and what it says of the body's
    length holds: nothing else reads that number, and a thread never reads from the connection.
    """

    def __init__(self, cfg: Config, client: Address, max_body: int) -> None:
        # Bytes that belong to nothing complete; those of the next request once this one is.
        self.data = bytearray()
        self.has_head = False
        self.request: BufferedRequest
        self.expects_continue = False
        self._cfg = cfg
        self._client = client
        self._max_body = max_body
        # Offsets: where to continue, and the end of the request line once known.
        self._position = 0
        self._line_end = 0
        self._body: SizedBody | ChunkedBody

    def add(self, data: bytes) -> bool:
        """Add received bytes; return whether the request is complete, or larger than it may be.

        Raises gunicorn's errors for requests that are malformed or have too large a head.
        """
        self.data += data
        if not self.has_head and not self._find_head():
            return False
        try:
            body = self._body.take(self.data)
        except RequestEntityTooLarge:
            self._answer_at_once()
            return True
        if body is not None:
            self.request.body = BytesIO(body)
        return body is not None

    def _find_head(self) -> bool:
        """Look for the empty line; a line that ends without CR is refused at once."""
        start = max(0, self._position - 3)
        found = self.data.find(b"\r\n\r\n", start)
        end = found + 4 if found >= 0 else len(self.data)
        self._check_head(end)
        self._position = end
        if BARE_LINE_FEED.search(self.data, start, end):
            raise InvalidRequestLine("")
        if found >= 0:
            self._read_head(end)
        return found >= 0

    def _check_head(self, end: int) -> None:
        """Limit the head and the request line, which an empty line may precede (RFC 9112, 2.2)."""
        if not self._line_end:
            start = 2 if self.data.startswith(b"\r\n") else 0
            found = self.data.find(b"\r\n", max(start, self._position - 1))
            self._line_end = max(0, found)
            if (found if found >= 0 else end) - start > MAX_LINE:
                raise LimitRequestLine(end, MAX_LINE)
        if end > MAX_HEAD:
            raise LimitRequestHeaders("")

    def _read_head(self, end: int) -> None:
        """Let gunicorn parse the head, and take it away; raise its errors."""
        request = BufferedRequest(self._cfg, IterUnreader([bytes(self.data[:end])]), self._client)
        del self.data[:end]
        request.version = min(request.version, VERSION)
        if isinstance(request.body.reader, ChunkedReader):
            _check_coding(request.headers)
            self._body = ChunkedBody(request, self._max_body)
        else:
            self._body = SizedBody(request.body.reader.length, self._max_body)
        # gunicorn would send "100 Continue" in a thread.
        self.expects_continue = request._expected_100_continue
        request._expected_100_continue = False
        self.request, self.has_head = request, True

    def _answer_at_once(self) -> None:
        """Let the request be answered without its body, and the connection be closed."""
        self.request.body = TooLargeBody()
        self.request.force_close()
        self.data.clear()


def _check_coding(headers: list[tuple[str, str]]) -> None:
    """Refuse every transfer coding but `chunked`; gunicorn leaves `gzip` to the application."""
    for name, value in headers:
        if name == "TRANSFER-ENCODING" and value.lower() != "chunked":
            raise UnsupportedTransferCoding(value)
