"""Connections that check the address of their peer and enforce the deadline of a call."""

import http.client
import io
import socket
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from app.connector.errors import ResponseTooLargeError

from .host_policy import HostPolicy

# Maximum seconds for each of several addresses of a host: distant servers answer sooner, unless the
# first packet is lost.
ADDRESS_TIMEOUT = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the current call, in seconds and, for `received`, in bytes of a response."""

    policy: HostPolicy
    deadline: float
    read: float
    received: int = 2**63

    def next_read(self) -> float:
        """Return the seconds that the next read may take; raise TimeoutError after the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the total time-out was exceeded")
        return min(self.read, left)


current_limits: ContextVar[Limits] = ContextVar("current_limits")


class _TimedReader(io.RawIOBase):
    """Reads a socket within the limits of the call."""

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self._sock = sock
        self._limits = limits
        self._raw = sock.makefile("rb", buffering=0)
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._limits.next_read())
        count = self._raw.readinto(buffer)
        self._received += count or 0
        if self._received > self._limits.received:
            raise ResponseTooLargeError("the headers or the framing of the body are too large")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """A response whose headers and body are read within the limits."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedReader(sock, current_limits.get()))


def _connect(
    connection: HTTPConnection, connect_to_host: Callable[[], socket.socket]
) -> socket.socket:
    """Connect to a permitted address of the host, within one time-out for all of them."""
    limits, name = current_limits.get(), connection._dns_host
    timeout = float(connection.timeout or 0)
    deadline, addresses = time.monotonic() + timeout, _addresses(connection)
    try:
        while True:
            # urllib3 would allow the whole time for each address.
            connection.timeout = _share(deadline, len(addresses))
            connection._dns_host = addresses.pop(0)
            try:
                sock = connect_to_host()
                break
            except (NewConnectionError, ConnectTimeoutError):
                if not addresses or time.monotonic() >= deadline:
                    raise
    finally:
        connection._dns_host = name
    if connection.proxy is None:
        limits.policy.check_peer(sock, connection.host, connection.port)
    _limit(sock, connection, timeout)
    return sock


def _limit(sock: socket.socket, connection: HTTPConnection, timeout: float) -> None:
    """Set the time-out until the answer: the TLS handshake, and sending the request."""
    try:
        sock.settimeout(min(timeout, current_limits.get().next_read()))
    except TimeoutError as error:
        sock.close()
        raise ConnectTimeoutError(connection, str(error)) from None


def _addresses(connection: HTTPConnection) -> list[str]:
    try:
        found = socket.getaddrinfo(connection._dns_host, connection.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise NameResolutionError(connection.host, connection, error) from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _share(deadline: float, addresses: int) -> float:
    """Return the seconds for the next address; enough is left for the others."""
    left = max(deadline - time.monotonic(), 0.001)
    return min(max(left / addresses, ADDRESS_TIMEOUT), left)


class _PlainConnection(HTTPConnection):
    response_class = _TimedResponse

    def _new_conn(self) -> socket.socket:
        return _connect(self, super()._new_conn)


class _TLSConnection(HTTPSConnection):
    response_class = _TimedResponse

    def _new_conn(self) -> socket.socket:
        return _connect(self, super()._new_conn)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection

    def _validate_conn(self, conn: Any) -> None:
        # The base class warns on every call without certificate check; the data source logs one
        # warning at start.
        if conn.is_closed:
            conn.connect()


_POOLS = {"http": _PlainPool, "https": _TLSPool}


class Adapter(HTTPAdapter):
    """An adapter whose pools, also those of proxies, use the connections of this module."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pools."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Create the pools of a proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager
