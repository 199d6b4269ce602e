"""A request to a service behind the proxy, sent once, and its answer to the client."""

import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from ostiary_loopback.compare.answers import Service

from .incoming import PART, PART_TIMEOUT, BadRequestError, ClientGoneError, Incoming

# Header fields that are only for one connection (RFC 9110, 7.6.1).
_HOP_BY_HOP = {
    *("CONNECTION", "KEEP-ALIVE", "PROXY-CONNECTION", "PROXY-AUTHENTICATE"),
    *("PROXY-AUTHORIZATION", "TE", "TRAILER", "TRANSFER-ENCODING", "UPGRADE", "EXPECT"),
}
# Header fields that `Connection` cannot declare as such: they say who calls, and from where.
_END_TO_END = {"HOST", "AUTHORIZATION", "COOKIE", "CONTENT-LENGTH"}
_FOLDED = re.compile(r"\s*[\r\n]+\s*")
WITHOUT_BODY = (204, 304)

Headers = list[tuple[str, str]]


class ServiceFailedError(Exception):
    """A service could not be reached, or did not answer in time, or not with HTTP."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class TruncatedError(Exception):
    """A service closed the connection before the end of its answer."""


def forwarded_headers(request: Incoming, client: str) -> Headers:
    """Return the header fields to send to a service for a request of a client."""
    kept = _end_to_end(request.headers, request.tokens("CONNECTION"))
    forwarded_for = ", ".join([*request.values("X-FORWARDED-FOR"), client])
    kept = [field for field in kept if field[0] not in ("X-FORWARDED-FOR", "CONTENT-LENGTH")]
    names = {name for name, _ in kept}
    added = {"X-FORWARDED-FOR": forwarded_for}
    if "X-FORWARDED-PROTO" not in names:
        added["X-FORWARDED-PROTO"] = "http"
    return [*kept, *added.items()]


def _end_to_end(headers: Sequence[tuple[str, str]], declared: set[str]) -> Headers:
    left_out = _HOP_BY_HOP | {
        name.upper()
        for name in declared
        if name.upper() not in _END_TO_END and not name.startswith("x-forwarded-")
    }
    return [(name, value) for name, value in headers if name.upper() not in left_out]


class Upstream:
    """A request to a service, and its answer; it must be closed."""

    def __init__(self, service: Service, request: Incoming, target: str, headers: Headers) -> None:
        """Send the request, once, on a connection of its own.

        Raises ServiceFailedError, ClientGoneError if the client does not send its body, and
        BadRequestError.
        """
        self._connection = _connect(service)
        try:
            # A service may answer, and close the connection, before it has received a whole body.
            with suppress(BrokenPipeError, ConnectionResetError):
                self._send(request, target, headers)
            self._response: HTTPResponse = self._connection.getresponse()
        except TimeoutError:
            self.close()
            raise ServiceFailedError(HTTPStatus.GATEWAY_TIMEOUT) from None
        except (HTTPException, OSError, ValueError):
            self.close()
            raise ServiceFailedError(HTTPStatus.BAD_GATEWAY) from None
        except (BadRequestError, ClientGoneError):
            self.close()
            raise
        self.status = self._response.status
        self.reason = _FOLDED.sub(" ", self._response.reason)
        has_body = request.verb != "HEAD" and self.status not in WITHOUT_BODY
        self.has_body = has_body
        # None if it is sent in chunks, or until the service closes the connection.
        self.length = self._response.length if has_body else 0

    def _send(self, request: Incoming, target: str, headers: Headers) -> None:
        connection = self._connection
        connection.putrequest(request.verb, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name.title(), value)
        connection.putheader("Connection", "close")
        if request.length is None:
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders(request.body(), encode_chunked=True)
        else:
            if request.values("CONTENT-LENGTH"):
                connection.putheader("Content-Length", str(request.length))
            connection.endheaders(request.body() if request.length else None)

    @property
    def headers(self) -> Headers:
        """The header fields for the client, without those of the connection to the service."""
        fields = self._response.getheaders()
        declared = {
            word.strip().lower()
            for name, value in fields
            if name.lower() == "connection"
            for word in value.split(",")
        }
        kept = _end_to_end(fields, declared)
        # A body in chunks has no other length.
        is_sized = not self.has_body or self.length is not None
        return [
            (name, _FOLDED.sub(" ", value))
            for name, value in kept
            if is_sized or name.lower() != "content-length"
        ]

    def header(self, name: str) -> str:
        """Return the value of a header field, or an empty text."""
        return self._response.getheader(name) or ""

    def body(self) -> Iterator[bytes]:
        """Yield the body in parts, as they come; raise TruncatedError."""
        if not self.has_body:
            return
        try:
            while part := self._response.read1(PART):
                yield part
        except (HTTPException, OSError):
            raise TruncatedError from None
        if self._response.length:
            raise TruncatedError

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _connect(service: Service) -> HTTPConnection:
    if service.is_https:
        context = ssl.create_default_context()
        return HTTPSConnection(service.host, service.port, timeout=PART_TIMEOUT, context=context)
    return HTTPConnection(service.host, service.port, timeout=PART_TIMEOUT)


def send_head(client: socket.socket, lines: Sequence[str]) -> None:
    """Send the status line and the header fields of an answer."""
    client.sendall("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
