"""The connection of a client."""

import socket
from contextlib import AbstractContextManager, nullcontext, suppress

from .incoming import Address, IncomingRequest
from .outgoing import Outgoing

# Maximum bytes of one receive call.
RECEIVE_BYTES = 64 * 1024


class Connection:
    """A connection that never blocks, with its current request and response.

    gunicorn needs `sock`, `timeout` and `close`.
    """

    def __init__(
        self, sock: socket.socket, client: Address, server: Address, timeout: float
    ) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.client = client
        # When it began to wait: for a request, its client, or its turn to compute a password hash.
        self.began = 0.0
        # When it times out.
        self.timeout = 0.0
        # Received bytes of an upload at the last progress.
        self.upload_seen = 0
        # Bytes read and dropped after the last response.
        self.discarded = 0
        # The context manager around the response in its thread.
        self.turn: AbstractContextManager[None] = nullcontext()
        self.incoming: IncomingRequest
        self.outgoing = Outgoing(sock, client, server, timeout)

    @property
    def host(self) -> str:
        """The address of the client without its port, "-" over a Unix socket."""
        return self.client[0] if isinstance(self.client, tuple) else "-"

    def receive(self) -> bytes | None:
        """Return received bytes, b"" at the end of the stream, or None if there are none yet."""
        try:
            return self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def send(self, data: bytes) -> None:
        """Send a few bytes; ignore a closed connection."""
        with suppress(OSError):
            self.sock.sendall(data)

    def is_closed(self) -> bool:
        """Return True if the client has closed its side; nginx does so when its client gives up."""
        try:
            return not self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Close the socket; ignore errors."""
        self.outgoing.discard()
        with suppress(OSError):
            self.sock.close()
