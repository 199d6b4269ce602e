"""The hosts that may be called: those in the settings, and not at private addresses."""

import ipaddress
import socket
from collections.abc import Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import requests

from app.connector.errors import BlockedHostError
from app.connector.request.url import DEFAULT_PORTS, origin_of

# Private domains (RFC 6761, 6762 and 8375, and .internal, which ICANN reserves).
_PRIVATE_DOMAINS = ("localhost", "local", "internal", "home.arpa")


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
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_global and not mapped.is_multicast)


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
