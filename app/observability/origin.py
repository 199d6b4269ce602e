"""The origin of the current work: the client's address, program and user, and the request id."""

from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from socket import AF_INET, inet_ntop, inet_pton
from typing import NamedTuple

from flask import Request, g, has_app_context, has_request_context, request
from werkzeug.middleware.proxy_fix import ProxyFix

from app.ids import Id

#: Characters of a `User-Agent` header that a session keeps.
MAX_USER_AGENT = 200
#: Characters of a client's address that are kept; an IPv6 address has at most 45, without its zone.
MAX_ADDRESS = 64
# What a request's environment has of its route and its caller.
ROUTE, USER_ID = "ostiary.route", "ostiary.user_id"


class Origin(NamedTuple):
    """Where work comes from; outside of a request every field but the request id is None."""

    # As the last trusted proxy states it (TRUSTED_PROXIES), else that of the connection.
    address: str | None = None
    user_agent: str | None = None
    request_id: str | None = None
    # The user who is logged in. A mailed token says who may read the mails, not who acts.
    user_id: Id | None = None


def current_origin() -> Origin:
    """Return the origin of the current request; an empty one for a command."""
    if not has_request_context():
        return Origin(request_id=current_request_id())
    return Origin(
        _printable(request.remote_addr or "", MAX_ADDRESS),
        _printable(request.headers.get("User-Agent", ""), MAX_USER_AGENT),
        current_request_id(),
        request.environ.get(USER_ID),
    )


def current_request_id() -> str | None:
    """Return the id of the current request, or of the one whose consequences this is."""
    if has_request_context():
        request_id: str | None = request.environ.get("HTTP_X_REQUEST_ID")
        return request_id
    return g.get("request_id") if has_app_context() else None


def continue_request(request_id: str | None) -> None:
    """Let the work of this app context, which is no request, be a consequence of a request."""
    g.request_id = request_id


def note_caller(user_id: Id | None) -> None:
    """Put the route and the caller's id into the environment, where the server's log finds them."""
    # What is behind the proxy, each use of which costs several calls.
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    current.environ[ROUTE] = current.url_rule
    current.environ[USER_ID] = user_id


def current_network() -> str | None:
    """Return the network by which the current client is counted; None for a command."""
    return network_of(request.remote_addr or "") if has_request_context() else None


class Proxies(ProxyFix):
    """WSGI middleware: the client and the address of the service as trusted proxies state them."""

    def _get_real_value(self, trusted: int, value: str | None) -> str | None:
        """Return what so many trusted proxies say; Werkzeug reads quoted entries, see below."""
        return forwarded(value or "", trusted)


def forwarded(entries: str, proxies: int) -> str | None:
    """Return the entry of an `X-Forwarded-` header that so many proxies have followed, or None.

    Counted from the end, where only proxies write: to a parser of quoted strings, a `"` from the
    client would begin one that hides what the proxies have added to it.
    """
    last = entries.rsplit(",", proxies)[-proxies:]
    if len(last) < proxies or not proxies:
        return None
    return last[0].strip(' \t"') or None


def network_of(address: str) -> str:
    """Return the network by which the client with an address is counted.

    An IPv4 address, or the /64 of an IPv6 address, which one client can use all of (RFC 6177).
    Clients whose address is unknown, as over a Unix socket without a trusted proxy, are one.
    """
    address = _without_port(address[:MAX_ADDRESS])
    with suppress(OSError, ValueError):
        # Most addresses are of this form, which the system reads at a tenth of the cost.
        return inet_ntop(AF_INET, inet_pton(AF_INET, address))
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is None:
            return str(ip_network((int(found), 64), strict=False))
        found = found.ipv4_mapped
    return str(found)


def _without_port(address: str) -> str:
    """Return the address in what some proxies send: `192.0.2.1:4711` or `[2001:db8::1]:4711`."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _printable(text: str, length: int) -> str | None:
    """Return the first characters, as a client may have sent them, without unprintable ones."""
    return "".join(char if char.isprintable() else "?" for char in text[:length]) or None
