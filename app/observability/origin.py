"""The origin of the current work: client address, user agent, languages, user, and request id."""

import re
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from socket import AF_INET, inet_ntop, inet_pton
from typing import NamedTuple

from flask import Request, g, has_app_context, has_request_context, request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header
from werkzeug.middleware.proxy_fix import ProxyFix

from app.ids import Id

#: Maximum characters of a `User-Agent` header stored with a session.
MAX_USER_AGENT = 200
#: Maximum characters of a client's address; an IPv6 address has at most 45, without its zone.
MAX_ADDRESS = 64
#: Maximum characters of an `Accept-Language` header that are read; browsers send fewer.
MAX_LANGUAGES_HEADER = 255
#: Maximum number of a client's languages that are stored for its mails.
MAX_LANGUAGES = 5
# Maximum characters of these languages, joined; each has at most three.
MAX_JOINED_LANGUAGES = 4 * MAX_LANGUAGES
LANGUAGE = re.compile(r"([a-z]{2,3})(?=[-_]|\Z)", re.ASCII | re.IGNORECASE)
# Keys in a request's environment for its route and its caller.
ROUTE, USER_ID = "ostiary.route", "ostiary.user_id"


class Origin(NamedTuple):
    """The origin of work; outside of a request every field but the request id is None."""

    # As stated by the last trusted proxy (TRUSTED_PROXIES), else of the connection.
    address: str | None = None
    user_agent: str | None = None
    request_id: str | None = None
    # The logged-in user. A mailed token shows who can read the mails, not who is acting.
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
    """Return the id of the current request, or of the one that caused this work."""
    if has_request_context():
        request_id: str | None = request.environ.get("HTTP_X_REQUEST_ID")
        return request_id
    return g.get("request_id") if has_app_context() else None


def continue_request(request_id: str | None) -> None:
    """Attribute the work of this app context, outside of a request, to a request."""
    g.request_id = request_id


def current_languages() -> tuple[str, ...]:
    """Return the preferences of the current client, or of the one that caused this work."""
    if has_request_context():
        return parse_languages(request.headers.get("Accept-Language", ""))
    languages: tuple[str, ...] = g.get("languages", ()) if has_app_context() else ()
    return languages


def continue_languages(joined: str | None) -> None:
    """Set the preferred languages, joined by commas, in this app context without a request."""
    g.languages = tuple(filter(None, (joined or "").split(",")))


def parse_languages(header: str) -> tuple[str, ...]:
    """Return the languages of an Accept-Language header, most preferred first."""
    if len(header) > MAX_LANGUAGES_HEADER:
        # The last one may be cut off before its quality.
        header = header[:MAX_LANGUAGES_HEADER].rpartition(",")[0]
    accepted = parse_accept_header(header, LanguageAccept)
    found = (to_language(tag) for tag, quality in accepted if quality > 0)
    return tuple(dict.fromkeys(filter(None, found)))[:MAX_LANGUAGES]


def to_language(tag: object) -> str | None:
    """Return the language of a tag such as `de-AT` or `de_DE`; None if the tag is invalid."""
    match = LANGUAGE.match(tag) if isinstance(tag, str) else None
    return match[1].lower() if match else None


def note_caller(user_id: Id | None) -> None:
    """Put route and caller's id into the environment for the server's access log."""
    # The objects behind the proxies, since every use of a proxy costs several calls.
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    current.environ[ROUTE] = current.url_rule
    current.environ[USER_ID] = user_id


def current_network() -> str | None:
    """Return the network of the current client, for throttles; None for a command."""
    return network_of(request.remote_addr or "") if has_request_context() else None


class Proxies(ProxyFix):
    """WSGI middleware: the client and the service's URL, as stated by trusted proxies."""

    def _get_real_value(self, trusted: int, value: str | None) -> str | None:
        """Return what so many trusted proxies state; Werkzeug reads quoted entries, see below."""
        return forwarded(value or "", trusted)


def forwarded(entries: str, proxies: int) -> str | None:
    """Return the entry of an `X-Forwarded-` header before this number of proxies, or None.

    Counted from the end, which only proxies write: a parser of quoted strings would let a `"` from
    the client hide the entries that the proxies have added.
    """
    last = entries.rsplit(",", proxies)[-proxies:]
    if len(last) < proxies or not proxies:
        return None
    return last[0].strip(' \t"') or None


def network_of(address: str) -> str:
    """Return the network of a client's address, for throttles.

    An IPv4 address, or the /64 of an IPv6 address, all of which may belong to one client (RFC
    6177). Clients without a known address, such as over a Unix socket without a trusted proxy,
    count as one.
    """
    address = _without_port(address[:MAX_ADDRESS])
    with suppress(OSError, ValueError):
        # Most addresses have this form, which the system parses ten times as fast.
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
    """Return the address in formats of some proxies: `192.0.2.1:4711` or `[2001:db8::1]:4711`."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _printable(text: str, length: int) -> str | None:
    """Return the first characters of a client's text, without unprintable ones."""
    return "".join(char if char.isprintable() else "?" for char in text[:length]) or None
