"""Which hosts may be called, and connections that check their peer and the deadline of a call."""

import http.client
import io
import ipaddress
import socket
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from app.connector.errors import BlockedHostError, ResponseTooLargeError
from app.connector.request.url import DEFAULT_PORTS, origin_of

# Private domains (RFC 6761, 6762 and 8375, and .internal, which ICANN reserves).
_PRIVATE_DOMAINS = ("localhost", "local", "internal", "home.arpa")
# The prefix of addresses that gateways translate to IPv4 (RFC 6052, 2.1).
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
# Maximum seconds for each of several addresses of a host: distant servers answer sooner, unless the
# first packet is lost.
ADDRESS_TIMEOUT = 1.0


class HostPolicy:
    """The permitted hosts; empty before `trust`."""

    def __init__(self) -> None:
        self._patterns: tuple[str, ...] = ()
        self._prefixes: tuple[str, ...] = ()
        self._allows_all = False
        self._named: set[tuple[str, str, int]] = set()
        self._peers: set[tuple[str, int]] = set()
        self._secure: set[str] = set()

    def trust(self, urls: Iterable[str], patterns: Iterable[str]) -> None:
        """Allow the hosts and ports of urls, and hosts that match patterns of `allowedHosts`."""
        self._patterns = tuple(map(str.lower, patterns))
        self._allows_all = "*" in self._patterns
        named = set(filter(None, map(origin_of, map(_as_sent, urls))))
        plain = {(host, port) for scheme, host, port in named if scheme == "http"}
        self._secure = {host for _, host, _ in named} - {host for host, _ in plain}
        # A host of an http URL may also be called by https, but not vice versa.
        self._named = named | {("https", host, 443 if port == 80 else port) for host, port in plain}
        self._peers = {(host, port) for _, host, port in self._named}
        self._prefixes = tuple(_prefix(*address) for address in self._named)

    def check(self, url: str) -> None:
        """Raise BlockedHostError for the url of a host that is not allowed."""
        if url.startswith(self._prefixes):
            return
        scheme, host, port = address = self._read_address(url)
        if scheme == "http" and host in self._secure:
            raise BlockedHostError(f"host {host} may be called only by https, as in the settings")
        if address not in self._named and not self._is_allowed(host, port):
            raise BlockedHostError(
                f'host {host}:{port} is not allowed by the settings; the entry "{host}:{port}" of '
                "allowedHosts would permit it"
            )

    def _read_address(self, url: str) -> tuple[str, str, int]:
        address = origin_of(url)
        if address is None or ("@" in urlsplit(url).netloc and not self._allows_all):
            raise BlockedHostError("the url is not valid, or not one that may be called")
        return address

    def check_peer(self, sock: socket.socket, host: str, port: int) -> None:
        """Raise BlockedHostError for a private address, unless the settings name the host."""
        host = host.lower().strip("[]")
        if self._is_written_out(host, port):
            return
        peer = ipaddress.ip_address(sock.getpeername()[0].partition("%")[0])
        if not _is_public(peer):
            sock.close()
            raise BlockedHostError(f"host {host} has an address that is not public")

    def check_proxied(self, url: str) -> None:
        """Raise BlockedHostError for a host with a private name, unless it is trusted.

        For calls through a proxy: it resolves the name, so the peer's address cannot be checked.
        """
        _, host, port = origin_of(url) or ("", "", 0)
        is_public = _is_public_name(host.strip("[]").rstrip("."))
        if not is_public and not self._is_written_out(host, port):
            raise BlockedHostError(f"host {host} is not public")

    def _is_allowed(self, host: str, port: int) -> bool:
        names = (host, f"{host}:{port}")
        return any(fnmatchcase(name, pattern) for pattern in self._patterns for name in names)

    def _is_written_out(self, host: str, port: int) -> bool:
        """Return True if the settings name the host without a wildcard, or allow every host."""
        is_pattern = host in self._patterns or f"{host}:{port}" in self._patterns
        return self._allows_all or (host, port) in self._peers or is_pattern


def _is_public_name(host: str) -> bool:
    """Return True if a host is a public address, or a name that may be public."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A numeric last label makes it an address, in one of many notations (WHATWG URL).
        is_number = host.rpartition(".")[2][:1].isdigit()
        is_private = any(f".{host}".endswith(f".{domain}") for domain in _PRIVATE_DOMAINS)
        return "." in host and not is_number and not is_private
    return _is_public(address)


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or _translated(address) or address
    return bool(address.is_global and not address.is_multicast)


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the address of IPv4 to which one is translated (RFC 6052, 2.1), if any."""
    if address not in _TRANSLATED:
        return None
    return ipaddress.IPv4Address(address.packed[-4:])


def _as_sent(url: str) -> str:
    # As requests encodes it, so that an international name has one form.
    prepared = requests.PreparedRequest()
    try:
        prepared.prepare_url(url, None)
    except requests.RequestException:
        return ""
    return prepared.url or ""


def _prefix(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}/" if port == DEFAULT_PORTS[scheme] else f"{scheme}://{name}:{port}/"


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

    def proxy_manager_for(self, proxy: str, **options: object) -> object:
        """Create the pools of a proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager
