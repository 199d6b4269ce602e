"""Requests, read from received bytes, so that no thread waits for missing ones."""

import re
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, BinaryIO

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

from app.errors import TemporarilyUnavailable
from app.observability.origin import forwarded, network_of

from .bodies import ChunkedBody, ChunkedUpload, SizedBody, SizedUpload, TooLargeBody

#: Maximum bytes of a request line; Node.js accepts as many for all headers.
MAX_LINE = 16 * 1024
#: Maximum bytes of a request line and headers together.
MAX_HEAD = 64 * 1024
# The newest supported version: requests of a later 1.x are answered in it (RFC 9110, 2.5).
VERSION = (1, 1)
# A host and a port, and two more numbers with IPv6; for a Unix socket, its path.
Address = tuple[str, int] | tuple[str, int, int, int] | str

BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")


class BufferedRequest(Request):
    """A request with headers parsed by gunicorn and a body not read from the connection."""

    method: str
    path: str
    version: tuple[int, int]  # type: ignore[assignment]
    headers: list[tuple[str, str]]
    # gunicorn's reader, until the body was received.
    body: Any
    # Seconds that it waited for its turn to compute a password hash.
    waited = 0.0

    def network(self, proxies: int) -> str:
        """Return the client's network, for throttles, behind this number of trusted proxies."""
        # For a Unix socket the peer is not a tuple, and all clients count as one.
        address = self.peer_addr[0] if isinstance(self.peer_addr, tuple) else ""
        if proxies:
            values = [value for name, value in self.headers if name == "X-FORWARDED-FOR"]
            address = forwarded(",".join(values), proxies) or address
        return network_of(address)


class IncomingRequest:
    """The received bytes of one request; each byte is examined once.

    gunicorn's parser reads the headers as soon as they are complete, and its result for the body's
    length is final: nothing else parses that number, and no thread reads from the connection.
    """

    def __init__(
        self,
        cfg: Config,
        client: Address,
        max_body: int,
        max_upload: Callable[[BufferedRequest], int] = lambda request: 0,
    ) -> None:
        """`max_upload` returns the maximum bytes of a body received in a file, or 0."""
        # Bytes of nothing complete; those of the next request once this one is complete.
        self.data = bytearray()
        self.has_head = False
        self.request: BufferedRequest
        self.expects_continue = False
        self._cfg = cfg
        self._client = client
        self._max_body = max_body
        self._max_upload = max_upload
        # Whether the body is an upload, which is only received after it was allowed.
        self.asks_for_upload = False
        # The file of an upload, and its size.
        self._file: BinaryIO | None = None
        self.received = 0
        # Offsets: where to continue, and the end of the request line once known.
        self._position = 0
        self._line_end = 0
        self._body: SizedBody | ChunkedBody | SizedUpload | ChunkedUpload

    def add(self, data: bytes) -> bool:
        """Add received bytes; return whether the request is complete, or too large.

        Raises gunicorn's errors for malformed requests, and for too large headers.
        """
        self.data += data
        self.received += len(data)
        if (not self.has_head and not self._find_head()) or self.asks_for_upload:
            return False
        try:
            body = self._body.take(self.data)
            if body is None:
                return False
            self.request.body = file = BytesIO(body) if isinstance(body, bytes) else body
            file.seek(0)
        except RequestEntityTooLarge:
            self.answer_at_once()
        except OSError:
            # The disk has no room for the file or its buffer.
            raise TemporarilyUnavailable() from None
        return True

    @property
    def is_head(self) -> bool:
        """Whether the response has no body, as far as the method could be read."""
        if self.has_head:
            return self.request.method == "HEAD"
        return self.data.startswith((b"HEAD ", b"\r\nHEAD "))

    def receive_upload(self) -> None:
        """Receive the body in an unnamed file; raise TemporarilyUnavailable."""
        self.asks_for_upload = False
        try:
            # The connection closes it.
            self._file = TemporaryFile()  # noqa: SIM115
        except OSError:
            raise TemporarilyUnavailable() from None
        reader, most = self.request.body.reader, self._max_upload(self.request)
        if isinstance(reader, ChunkedReader):
            self._body = ChunkedUpload(self.request, most, self._file)
        else:
            self._body = SizedUpload(reader.length, self._file)

    def take_rest(self) -> bytes | None:
        """Take the bytes received after the headers, None if there are none."""
        rest = bytes(self.data)
        self.data.clear()
        self.received -= len(rest)
        return rest or None

    def close(self) -> None:
        """Drop the received part of an upload."""
        if self._file is not None:
            # Closing writes buffered bytes, for which there may be no room.
            with suppress(OSError):
                self._file.close()

    def _find_head(self) -> bool:
        """Find the empty line; a line that ends without CR is refused at once."""
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
        """Limit headers and request line, which an empty line may precede (RFC 9112, 2.2)."""
        if not self._line_end:
            start = 2 if self.data.startswith(b"\r\n") else 0
            found = self.data.find(b"\r\n", max(start, self._position - 1))
            self._line_end = max(0, found)
            if (found if found >= 0 else end) - start > MAX_LINE:
                raise LimitRequestLine(end, MAX_LINE)
        if end > MAX_HEAD:
            raise LimitRequestHeaders("")

    def _read_head(self, end: int) -> None:
        """Let gunicorn parse the headers, and remove them; raise its errors."""
        request = BufferedRequest(self._cfg, IterUnreader([bytes(self.data[:end])]), self._client)
        request.version = min(request.version, VERSION)
        is_chunked = isinstance(request.body.reader, ChunkedReader)
        if is_chunked:
            _check_coding(request.headers)
            self._body = ChunkedBody(request, self._max_body)
        else:
            self._body = SizedBody(request.body.reader.length, self._max_body)
        del self.data[:end]
        # gunicorn would send "100 Continue" in a thread.
        self.expects_continue = request._expected_100_continue
        request._expected_100_continue = False
        self.request, self.has_head = request, True
        length = 0 if is_chunked else request.body.reader.length
        if is_chunked or length > self._max_body:
            self.asks_for_upload = length <= self._max_upload(request) > 0

    def answer_at_once(self) -> None:
        """Let the request be answered without its body, and the connection be closed."""
        self.asks_for_upload = False
        self.request.body = TooLargeBody()
        self.request.force_close()
        self.data.clear()


def _check_coding(headers: list[tuple[str, str]]) -> None:
    """Refuse all transfer codings except `chunked`; gunicorn leaves `gzip` to the application."""
    for name, value in headers:
        if name == "TRANSFER-ENCODING" and value.lower() != "chunked":
            raise UnsupportedTransferCoding(value)
