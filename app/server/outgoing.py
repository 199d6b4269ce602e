"""Responses, sent as fast as clients read; the rest is buffered, so that no thread waits."""

import os
import select
import socket
from collections import deque
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from .incoming import Address

#: Maximum bytes buffered for a slow client; a thread waits while a longer response has more. Files
#: are not buffered: they are sent piece by piece.
# Lists end at 2 MB (MAX_BYTES in app/rest/rows/pages.py): only an application's views, and data
# sources with a large `maxResponseBytes`, send more.
MAX_UNSENT = 4 * 1024 * 1024
#: Bytes of a file sent at once, before other connections have their turn.
FILE_PIECE = 256 * 1024


Data = TypeVar("Data")


class ClientGoneError(OSError):
    """The client has closed the connection."""


class UnreadAnswerError(ClientGoneError):
    """The client does not read the response."""


class FilePart:
    """A part of a file, which the kernel sends without reading it into the process."""

    def __init__(self, file: BinaryIO, offset: int, count: int) -> None:
        # A duplicate, because the thread closes its own.
        self._descriptor = os.dup(file.fileno())
        self._offset = offset
        self.count = count

    def send(self, sock: socket.socket) -> None:
        """Send as much of the next piece as the client accepts."""
        count = min(self.count, FILE_PIECE)
        sent = os.sendfile(sock.fileno(), self._descriptor, self._offset, count)
        if not sent:
            # The client must not take the partial response for complete, nor later data for the
            # rest.
            sock.shutdown(socket.SHUT_RDWR)
            raise OSError("a file has become shorter while it was sent")
        self._offset += sent
        self.count -= sent

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class Outgoing:
    """The responses to a connection's requests, one after the other.

    Has the parts of gunicorn's connection and socket interfaces that it needs.
    """

    def __init__(
        self, sock: socket.socket, client: Address, server: Address, timeout: float
    ) -> None:
        self.sock = self
        self.client = client
        self.server = server
        # Set once a view continues the response later: gunicorn's end of it is not sent.
        self.parked: object = None
        # Bytes in memory that are not sent yet.
        self.unsent = 0
        # Bytes of files in the response.
        self.file_bytes = 0
        # The unsent pieces.
        self._parts: deque[bytearray | FilePart] = deque()
        # The response's headers: None before them, empty once sent.
        self._head: bytes | None = None
        self._socket = sock
        self._timeout = timeout

    @property
    def is_sent(self) -> bool:
        """Whether everything was sent."""
        return not self._parts

    def begin(self) -> None:
        """Begin another response."""
        self.file_bytes = 0
        self._head = None

    def end(self) -> None:
        """Send the headers if no body followed; raise the errors of `sendall`."""
        if self._head:
            self.sendall(b"")

    def sendall(self, data: bytes) -> None:
        """Send as much as the client accepts at once; raise ClientGoneError or UnreadAnswerError.

        The headers, which gunicorn sends first, are sent together with the following data.
        """
        if self._head is None:
            self._head = data
            return
        if self.parked is not None:
            return
        data, self._head = self._head + data, b""
        self.push(data)
        if self.unsent:
            self._wait()

    def push(self, data: bytes) -> None:
        """Send as much as the client accepts, and buffer the rest; raise ClientGoneError."""
        sent = 0 if self._parts else self._send(data)
        if sent < len(data):
            last = self._parts[-1] if self._parts else None
            if not isinstance(last, bytearray):
                last = bytearray()
                self._parts.append(last)
            last += memoryview(data)[sent:]
            self.unsent += len(data) - sent

    def sendfile(self, file: BinaryIO, offset: int, count: int) -> None:
        """Send as much of a file's part as the client accepts at once; raise ClientGoneError."""
        self.end()
        self.file_bytes += count
        self._parts.append(FilePart(file, offset, count))
        if len(self._parts) == 1:
            self.send_rest()

    def send_rest(self) -> None:
        """Send as much of the buffered data as the client accepts; raise ClientGoneError."""
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
        """Drop the buffered data."""
        while self._parts:
            self._drop()
        self.unsent = 0

    def _drop(self) -> None:
        part = self._parts.popleft()
        if isinstance(part, FilePart):
            part.close()

    def _wait(self) -> None:
        """Wait until the client has read the data beyond the buffer's limit."""
        writable = select.poll()
        writable.register(self._socket, select.POLLOUT)
        while self.unsent > MAX_UNSENT:
            if not writable.poll(self._timeout * 1000):
                self.discard()
                raise UnreadAnswerError
            self.send_rest()

    def _send(self, data: bytes | bytearray) -> int:
        """Return the number of bytes sent."""
        return self._attempt(self._socket.send, data) or 0

    def _attempt(self, send: Callable[[Data], int | None], argument: Data) -> int | None:
        """Return the result of a function that sends, None if the client accepts nothing now."""
        try:
            return send(argument)
        except BlockingIOError:
            return None
        except OSError as error:
            self.discard()
            raise ClientGoneError from error

    def shutdown(self, how: int) -> None:
        """Raise OSError: if a response fails half way, gunicorn would wait for the client."""
        raise OSError("the main loop closes the connection")

    def close(self) -> None:
        """Do nothing: the main loop closes the connection once the rest is sent."""
