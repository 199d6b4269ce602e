"""One call of a receiver: within a time, to a permitted address, with a limited answer."""

import ipaddress
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import requests
import urllib3
from flask import Flask, current_app

from app.connector import ConnectorError
from app.connector.http.connection import Adapter, HostPolicy, Limits, current_limits
from app.settings.fields import DEFAULT_PORTS, is_address
from app.state import AppState

from .models import MAX_STORED

#: Seconds for a call, of which for connecting.
TIMEOUT, CONNECT_TIMEOUT = 10.0, 3.0
#: Maximum bytes of an answer with its headers.
MAX_ANSWER = 65_536
#: Maximum connections that are kept: to so many hosts, and to each of them.
HOSTS, CONNECTIONS = 20, 2
# Any host with a public address.
PUBLIC_HOSTS = "?*"
FAILURES = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    ConnectorError,
    OSError,
    ValueError,
)


class Answer(NamedTuple):
    """What a receiver has answered: its status and first characters, or why there is none."""

    status: int | None
    text: str | None
    error: str | None

    @property
    def is_success(self) -> bool:
        """Whether the receiver has taken the event."""
        return self.status is not None and 200 <= self.status < 300


class ReceiverPolicy(HostPolicy):
    """Permits public addresses by https, and by http too what WEBHOOK_HOSTS has.

    The address is that of the open connection, so that no answer of a name server comes between
    the check and the call.
    """

    def __init__(self, permitted: Iterable[str]) -> None:
        super().__init__()
        self._networks, names = [], []
        for text in permitted:
            try:
                self._networks.append(ipaddress.ip_network(text))
            except ValueError:
                names.append(text.lower())
        self._names = set(names)
        self.trust([], [PUBLIC_HOSTS, *names])

    def check(self, url: str) -> None:
        """Raise BlockedHostError or ValueError for a URL that may not be called."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if not is_address(url, "https", "http") or "@" in parts.netloc:
            raise ValueError("must be an https address without a user or a password")
        is_named = self._is_named(host, parts.port or DEFAULT_PORTS[parts.scheme])
        if parts.scheme == "http" and not is_named:
            raise ValueError("must be an https address, unless WEBHOOK_HOSTS has its host")
        if not is_named:
            self.check_proxied(url)
        super().check(url)

    def check_peer(self, sock: socket.socket, host: str, port: int) -> None:
        """Raise BlockedHostError for an address that is neither public nor permitted."""
        if not self._is_in_network(sock.getpeername()[0].partition("%")[0]):
            super().check_peer(sock, host, port)

    def _is_named(self, host: str, port: int) -> bool:
        return not self._names.isdisjoint({host, f"{host}:{port}"}) or self._is_in_network(host)

    def _is_in_network(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


class Sender:
    """The connections of an app to receivers."""

    def __init__(self, app: Flask) -> None:
        self.policy = ReceiverPolicy(app.config["WEBHOOK_HOSTS"])
        self._adapter = Adapter(pool_connections=HOSTS, pool_maxsize=CONNECTIONS)

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a body; return the answer. Redirects are not followed."""
        limits = Limits(self.policy, time.monotonic() + TIMEOUT, TIMEOUT, MAX_ANSWER)
        scope = current_limits.set(limits)
        try:
            self.policy.check(url)
            return self._send(url, headers, body)
        except FAILURES as error:
            # Most texts may quote the address.
            return Answer(None, None, type(error).__name__)
        finally:
            current_limits.reset(scope)

    def _send(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        # No proxies and no passwords of the environment.
        session = requests.Session()
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, self._adapter)
        agent = current_app.config["SERVICE_NAME"].encode("ascii", "ignore").decode() or "Ostiary"
        sent = {
            "Content-Type": "application/json",
            "User-Agent": agent,
            # A compressed answer could expand to more than is received.
            "Accept-Encoding": "identity",
            **headers,
        }
        response = session.post(
            url,
            data=body,
            headers=sent,
            timeout=(CONNECT_TIMEOUT, TIMEOUT),
            allow_redirects=False,
            stream=True,
        )
        text = b""
        # The status counts, also if the rest of the answer cannot be read.
        with response, suppress(*FAILURES):
            text = response.raw.read(MAX_ANSWER, decode_content=False)
        shown = "".join(
            char if char.isprintable() else " "
            for char in text[:MAX_STORED].decode(errors="replace")
        )
        return Answer(response.status_code, shown, None)


senders = AppState("sender of webhooks", factory=Sender)
