"""Answers, sent as far as clients take them; the rest is kept, so that no thread waits."""

import os
import select
import socket
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from .incoming import Address

#: Bytes of one answer that are kept for a client that reads slowly; a thread waits until the client
#: of a longer one has read the rest. Files are not kept: they are sent piece by piece.
# Lists end at 2 MB (MAX_BYTES in app/rest/rows/pages.py): only views of an application, and data
# sources with a large `maxResponseBytes`, send more.
MAX_UNSENT = 4 * 1024 * 1024
#: Bytes of a file that are sent at once; other connections have their turn before the next ones.
FILE_PIECE = 256 * 1024


Argument = TypeVar("Argument")


class ClientGoneError(OSError):
    """The client has closed the connection."""


class UnreadAnswerError(ClientGoneError):
    """The client takes nothing of the answer."""


class FilePart:
    """Bytes of a file, which the kernel sends without reading them into the process."""

    def __init__(self, file: BinaryIO, offset: int, count: int) -> None:
        # The thread closes its own when it is done.
        self._descriptor = os.dup(file.fileno())
        self._offset = offset
        self.count = count

    def send(self, sock: socket.socket) -> None:
        """Send what the client takes of the next piece."""
        count = min(self.count, FILE_PIECE)
        sent = os.sendfile(sock.fileno(), self._descriptor, self._offset, count)
        if not sent:
            # The client must not take what it has for the whole answer, nor what follows for more.
            sock.shutdown(socket.SHUT_RDWR)
            raise OSError("a file has become shorter while it was sent")
        self._offset += sent
        self.count -= sent

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class Outgoing:
    """The answers to the requests of a connection, one after the other.

    Has what gunicorn uses of a connection and of its socket.
    """

    def __init__(
        self, sock: socket.socket, client: Address, server: Address, timeout: float
    ) -> None:
        self.sock = self
        self.client = client
        self.server = server
        # Bytes in memory that the client has not taken yet.
        self.unsent = 0
        # Bytes of files in the answer.
        self.file_bytes = 0
        # What the client has not taken yet.
        self._parts: deque[bytearray | FilePart] = deque()
        # The head of the answer: None before it, empty once it was sent.
        self._head: bytes | None = None
        self._socket = sock
        self._timeout = timeout

    @property
    def is_sent(self) -> bool:
        """Whether the client has taken everything."""
        return not self._parts

    def begin(self) -> None:
        """Begin another answer."""
        self.file_bytes = 0
        self._head = None

    def end(self) -> None:
        """Send the head if nothing followed it; raise what `sendall` does."""
        if self._head:
            self.sendall(b"")

    def sendall(self, data: bytes) -> None:
        """Send what the client takes at once; raise ClientGoneError or UnreadAnswerError.

        The head, which gunicorn sends first, is sent together with what follows.
        """
        if self._head is None:
            self._head = data
            return
        data, self._head = self._head + data, b""
        sent = 0 if self._parts else self._send(data)
        if sent < len(data):
            last = self._parts[-1] if self._parts else None
            if not isinstance(last, bytearray):
                last = bytearray()
                self._parts.append(last)
            last += memoryview(data)[sent:]
            self.unsent += len(data) - sent
            self._wait()

    def sendfile(self, file: BinaryIO, offset: int, count: int) -> None:
        """Send what the client takes at once of a part of a file; raise ClientGoneError."""
        self.end()
        self.file_bytes += count
        self._parts.append(FilePart(file, offset, count))
        if len(self._parts) == 1:
            self.send_rest()

    def send_rest(self) -> None:
        """Send what the client takes now of what was kept; raise ClientGoneError."""
        part = self._parts[0]
        if isinstance(part, FilePart):
            self._attempt(part.send, self._socket)
            is_sent = not part.count
        else:
            sent = self._send(part)
            del part[:sent]
            self.unsent -= sent
            is_sent = not part
        if is_sent:
            self._drop()

    def discard(self) -> None:
        """Forget what was kept."""
        while self._parts:
            self._drop()
        self.unsent = 0

    def _drop(self) -> None:
        part = self._parts.popleft()
        if isinstance(part, FilePart):
            part.close()

    def _wait(self) -> None:
        """Wait until the client has taken what is too much to be kept."""
        writable = select.poll()
        writable.register(self._socket, select.POLLOUT)
        while self.unsent > MAX_UNSENT:
            if not writable.poll(self._timeout * 1000):
                self.discard()
                raise UnreadAnswerError
            self.send_rest()

    def _send(self, data: bytes | bytearray) -> int:
        """Return how many bytes were sent."""
        return self._attempt(self._socket.send, data) or 0

    def _attempt(self, send: Callable[[Argument], int | None], argument: Argument) -> int | None:
        """Return what a function that sends returns, or None if the client takes nothing now."""
        try:
            return send(argument)
        except BlockingIOError:
            return None
        except OSError as error:
            self.discard()
            raise ClientGoneError from error

    def shutdown(self, how: int) -> None:
        """Raise OSError: where an answer fails half way, gunicorn would wait for the client."""
        raise OSError("the main loop closes the connection")

    def close(self) -> None:
        """Do nothing: the main loop closes the connection once the rest is sent."""
