"""SMTP servers: a working one, and one that hangs."""

import gc
import logging
import socket
import ssl
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from queue import Queue
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from .waiting import PATIENCE

# The server logs what it receives; only our own log must keep the token out.
logging.getLogger("mail.log").setLevel(logging.WARNING)


class Postbox:
    """Takes every message, or refuses recipients with `refusal`."""

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal
        self.attempts = 0
        self.messages: Queue[Any] = Queue()

    async def handle_RCPT(self, server, session, envelope, address, options) -> str:  # noqa: N802
        self.attempts += 1
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope) -> str:  # noqa: N802
        envelope.tls = server.transport.get_extra_info("ssl_object") is not None
        envelope.login = session.auth_data
        self.messages.put(envelope)
        return "250 OK"

    def wait(self) -> Any:
        """Return the next message that arrives."""
        return self.messages.get(timeout=PATIENCE)


class SmtpsController(Controller):
    """A server that speaks TLS from the first byte."""

    def _trigger_server(self) -> None:
        # The original speaks TLS to itself with its own, server-side context.
        with closing(socket.create_connection((self.hostname, self.port), 1)) as connection:
            client = ssl.create_default_context()
            client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
            with client.wrap_socket(connection) as secure:
                secure.recv(1024)


def accept(name: str, password: str) -> Callable[..., AuthResult]:
    """Return an authenticator that accepts one login."""
    expected = LoginPassword(name.encode(), password.encode())

    def authenticate(server, session, envelope, mechanism, data) -> AuthResult:
        ok = isinstance(data, LoginPassword) and data == expected
        return AuthResult(success=ok, auth_data=name if ok else None)

    return authenticate


accept_ada = accept("ada", "p@ss/word")


@contextmanager
def smtp_server(
    port: int, postbox: Postbox, kind: type[Controller] = Controller, **options: Any
) -> Iterator[Postbox]:
    controller = kind(postbox, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield postbox
    finally:
        # Connections that are still open when the server stops are not closed.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            controller.stop(no_assert=True)
            del controller
            gc.collect(1)


@contextmanager
def hanging_server() -> Iterator[int]:
    """Accept connections and never say a word; yields the port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener.getsockname()[1]
