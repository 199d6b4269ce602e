"""Requests of a client's connection, parsed by gunicorn, in bounded time and memory."""

import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

from gunicorn.config import Config
from gunicorn.http.body import Body
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser

#: Seconds that a connection to the shadow proxy may be idle.
IDLE_TIMEOUT = 75.0
#: Seconds that the shadow proxy waits for the head of a request.
HEAD_TIMEOUT = 20.0
#: Seconds that the shadow proxy waits for a part of a body from a client or a service.
PART_TIMEOUT = 60.0
#: Maximum bytes of a request line and its header fields together, for the shadow proxy.
MAX_HEAD = 64 * 1024
# Maximum bytes of a part of a body.
PART = 64 * 1024


class BadRequestError(Exception):
    """A request that is answered with an error, after which the connection is closed."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class ClientGoneError(Exception):
    """The client has closed the connection, or takes too long."""


class ParsedRequest(Request):
    """A request whose head gunicorn has parsed."""

    method: str
    uri: str
    version: tuple[int, int]  # type: ignore[assignment]
    headers: list[tuple[str, str]]
    body: Body


class _Parser(RequestParser):
    mesg_class = ParsedRequest


class Incoming:
    """A request; `target` is the path with the query, as the client has sent it."""

    def __init__(self, request: ParsedRequest) -> None:
        self._body = request.body
        self.verb = request.method
        self.headers = request.headers
        self.expects_continue: bool = request._expected_100_continue
        self.is_http_1_0 = request.version < (1, 1)
        self.is_keep_alive = not self.is_http_1_0 and "close" not in self.tokens("CONNECTION")
        self._check_coding()
        # Whether all of its body was read.
        self.is_read = self.length == 0
        self.target = self._origin_form(request.uri)

    @property
    def path(self) -> str:
        """The path of the target."""
        return self.target.partition("?")[0]

    def values(self, name: str) -> list[str]:
        """Return the values of a header field, whose name is in upper case."""
        return [value for field, value in self.headers if field == name]

    def tokens(self, name: str) -> set[str]:
        """Return the words of a header field that is a list, in lower case."""
        return {word.strip().lower() for value in self.values(name) for word in value.split(",")}

    @property
    def length(self) -> int | None:
        """The length of the body; None if it is sent in chunks."""
        if self.values("TRANSFER-ENCODING"):
            return None
        return int(next(iter(self.values("CONTENT-LENGTH")), "0"))

    def body(self) -> Iterator[bytes]:
        """Yield the body in parts; raise ClientGoneError if not all of it comes.

        Raises BadRequestError for chunks that are malformed.
        """
        received = 0
        while part := self._read():
            received += len(part)
            yield part
        if self.length is not None and received < self.length:
            raise ClientGoneError
        self.is_read = True

    def _read(self) -> bytes:
        try:
            part: bytes = self._body.read(PART)
        except ParseException:
            raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
        except OSError:
            raise ClientGoneError from None
        return part

    def _check_coding(self) -> None:
        codings = self.values("TRANSFER-ENCODING")
        if codings and [coding.lower() for coding in codings] != ["chunked"]:
            raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED)

    def _origin_form(self, target: str) -> str:
        """Return a target as a path; the host of an absolute one replaces `Host`."""
        if "#" in target or self.verb == "CONNECT":
            raise BadRequestError(HTTPStatus.BAD_REQUEST)
        if target.startswith("/") or (target == "*" and self.verb == "OPTIONS"):
            return target
        try:
            address = urlsplit(target)
        except ValueError:
            raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise BadRequestError(HTTPStatus.BAD_REQUEST)
        rest = [field for field in self.headers if field[0] != "HOST"]
        self.headers = [("HOST", address.netloc), *rest]
        path = target.split("//", 1)[1].removeprefix(address.netloc)
        return path if path.startswith("/") else f"/{path}"


class Connection:
    """Reads the requests of a connection, one after the other."""

    def __init__(self, client: socket.socket, address: tuple[str, int]) -> None:
        self._client = client
        # The deadline for the head of a request; None before it and inside a body.
        self._head_until: float | None = None
        self._head_size = 0
        self._timeout = IDLE_TIMEOUT
        # gunicorn's own limits are smaller than those of Node.js.
        settings = Config()
        settings.set("limit_request_line", 0)
        settings.set("limit_request_field_size", MAX_HEAD)
        # Names with an underscore are passed on, as no WSGI environment is made of them.
        settings.set("header_map", "dangerous")
        self._parser = _Parser(settings, iter(self._receive, None), address)

    def next(self) -> Incoming | None:
        """Return the next request, or None if there is none.

        Raises BadRequestError for one that is malformed, and ClientGoneError.
        """
        self._timeout, self._head_size, self._head_until = IDLE_TIMEOUT, 0, None
        try:
            request = next(self._parser, None)
        except OSError:
            raise ClientGoneError from None
        except ParseException:
            raise BadRequestError(HTTPStatus.BAD_REQUEST) from None
        self._timeout, self._head_until = PART_TIMEOUT, None
        return Incoming(request) if request else None

    def _receive(self) -> bytes:
        """Return the next bytes; empty at the end of the connection."""
        if self._head_until is not None:
            self._client.settimeout(max(0.01, self._head_until - time.monotonic()))
        else:
            self._client.settimeout(self._timeout)
        data = self._client.recv(PART)
        if self._timeout == IDLE_TIMEOUT:
            self._head_until = self._head_until or time.monotonic() + HEAD_TIMEOUT
            self._head_size += len(data)
        if self._head_size > MAX_HEAD + PART:
            raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        return data
