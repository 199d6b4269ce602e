"""Answers, sent as far as clients take them; the rest is kept, so that no thread waits."""

import socket

from .incoming import Address

#: Bytes of one answer that are kept for a client that reads slowly; a thread waits until the client
#: of a longer one has read the rest.
# Lists end at 2 MB (MAX_BYTES in app/rest/rows/pages.py): only views of an application, and data
# sources with a large `maxResponseBytes`, send more.
MAX_UNSENT = 4 * 1024 * 1024


class ClientGoneError(OSError):
    """The client has closed the connection."""


class UnreadAnswerError(ClientGoneError):
    """The client takes nothing of the answer."""


class Outgoing:
    """The answer to one request, with what gunicorn uses of a connection and of its socket."""

    def __init__(
        self, sock: socket.socket, client: Address, server: Address, timeout: float
    ) -> None:
        self.sock = self
        self.client = client
        self.server = server
        # What the client has not taken yet.
        self.unsent = bytearray()
        self._socket = sock
        self._timeout = timeout

    def sendall(self, data: bytes) -> None:
        """Send what the client takes at once; raise ClientGoneError or UnreadAnswerError."""
        sent = 0 if self.unsent else self._send(data)
        if sent < len(data):
            self.unsent += memoryview(data)[sent:]
            if len(self.unsent) > MAX_UNSENT:
                self._wait()

    def send_rest(self) -> None:
        """Send what the client takes now of what was kept; raise ClientGoneError."""
        del self.unsent[: self._send(self.unsent)]

    def _wait(self) -> None:
        """Wait until the client has taken what is too much to be kept."""
        self._socket.settimeout(self._timeout)
        try:
            while len(self.unsent) > MAX_UNSENT:
                self.send_rest()
        finally:
            # The main loop never waits for it.
            self._socket.setblocking(False)

    def _send(self, data: bytes | bytearray) -> int:
        """Return how many bytes were sent."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            self.unsent.clear()
            raise (
                UnreadAnswerError if isinstance(error, TimeoutError) else ClientGoneError
            ) from error

    def shutdown(self, how: int) -> None:
        """Raise OSError: where an answer fails half way, gunicorn would wait for the client."""
        raise OSError("the main loop closes the connection")

    def close(self) -> None:
        """Do nothing: the main loop closes the connection once the rest is sent."""
