"""Bodies of requests, read from received bytes: of a known length, or in chunks."""

import re
from typing import BinaryIO, NoReturn

from gunicorn.http.body import CHUNK_EXT_RE
from gunicorn.http.errors import (
    ChunkMissingTerminator,
    InvalidChunkExtension,
    InvalidChunkSize,
    LimitRequestHeaders,
)
from gunicorn.http.message import Request
from werkzeug.exceptions import RequestEntityTooLarge

#: Maximum chunks of a body; each takes the main loop some microseconds.
MAX_CHUNKS = 1000
#: Bytes of an upload for each further chunk that it may have.
UPLOAD_CHUNK = 1024
#: Maximum bytes of the line with a chunk's size.
MAX_SIZE_LINE = 1024
#: Maximum bytes of the trailers, the same as for headers.
MAX_TRAILERS = 64 * 1024

SIZE = re.compile(rb"[0-9a-f]+", re.IGNORECASE)


class SizedBody:
    """A body with the length in `Content-Length`."""

    def __init__(self, length: int, max_bytes: int) -> None:
        self._length = length
        self._max_bytes = max_bytes

    def take(self, data: bytearray) -> bytes | None:
        """Take the body from the start of the data, or return None if it is not complete.

        Raises RequestEntityTooLarge.
        """
        if self._length > self._max_bytes:
            raise RequestEntityTooLarge
        if len(data) < self._length:
            return None
        return _take(data, self._length)


class ChunkedBody:
    """A body in chunks, each of which states its size (RFC 9112, section 7.1)."""

    def __init__(self, request: Request, max_bytes: int) -> None:
        self._request = request
        self._max_bytes = max_bytes
        self._body = bytearray()
        # The bytes and chunks taken so far.
        self._count = 0
        self._chunks = 0
        # The size of the chunk whose size was read, but not its bytes.
        self._size: int | None = None
        # The position up to which the end of the trailers was searched for.
        self._searched = 0

    def take(self, data: bytearray) -> bytes | None:
        """Take complete chunks from the start of the data; return the body after the last one.

        Raises RequestEntityTooLarge, and gunicorn's errors for malformed chunks.
        """
        while True:
            if self._size is None:
                self._size = self._take_size(data)
            if self._size is None or not self._is_here(self._size, data):
                return None
            if self._size == 0:
                return bytes(self._body)
            self._body += _take(data, self._size)
            self._count += self._size
            if _take(data, 2) != b"\r\n":
                raise ChunkMissingTerminator(b"")
            self._size = None

    @property
    def _most_chunks(self) -> int:
        return MAX_CHUNKS

    def _take_size(self, data: bytearray) -> int | None:
        """Take the line with a chunk's size; raise InvalidChunkSize or -Extension."""
        end = data.find(b"\r\n", 0, MAX_SIZE_LINE)
        if end < 0:
            if len(data) >= MAX_SIZE_LINE:
                raise InvalidChunkSize(b"")
            return None
        size, semicolon, extension = _take(data, end + 2)[:-2].partition(b";")
        if semicolon:
            size = size.rstrip(b" \t")
        self._chunks += 1
        if not SIZE.fullmatch(size) or self._chunks > self._most_chunks:
            raise InvalidChunkSize(b"")
        if not CHUNK_EXT_RE.fullmatch(semicolon + extension):
            raise InvalidChunkExtension(b"")
        if self._count + (number := int(size, 16)) > self._max_bytes:
            raise RequestEntityTooLarge
        return number

    def _is_here(self, size: int, data: bytearray) -> bool:
        """Return True if a chunk is complete; take the trailers of the last one, which is empty."""
        return len(data) >= size + 2 if size else self._take_trailers(data)

    def _take_trailers(self, data: bytearray) -> bool:
        """Take the trailers and the empty line; raise the same errors as for headers."""
        if data.startswith(b"\r\n"):
            _take(data, 2)
            return True
        end = data.find(b"\r\n\r\n", max(0, self._searched - 3))
        self._searched = len(data)
        if (end if end >= 0 else len(data)) > MAX_TRAILERS:
            raise LimitRequestHeaders("")
        if end >= 0:
            self._request.parse_headers(_take(data, end + 4)[:-4], from_trailer=True)
        return end >= 0


class SizedUpload:
    """A body with the length in `Content-Length`, received in a file."""

    def __init__(self, length: int, file: BinaryIO) -> None:
        self._left = length
        self._file = file

    def take(self, data: bytearray) -> BinaryIO | None:
        """Take the received part of the body; return the file once it is complete."""
        self._left -= self._file.write(_take(data, min(len(data), self._left)))
        return None if self._left else self._file


class ChunkedUpload(ChunkedBody):
    """A body in chunks, received in a file."""

    def __init__(self, request: Request, max_bytes: int, file: BinaryIO) -> None:
        super().__init__(request, max_bytes)
        self._file = file
        # Missing bytes of the current chunk.
        self._left = 0

    @property
    def _most_chunks(self) -> int:
        return MAX_CHUNKS + self._count // UPLOAD_CHUNK

    def take(self, data: bytearray) -> BinaryIO | None:  # type: ignore[override]
        """Take the received part of the body; return the file once it is complete.

        Raises RequestEntityTooLarge, and gunicorn's errors for malformed chunks.
        """
        while self._begin_chunk(data):
            if self._size == 0:
                return self._file if self._take_trailers(data) else None
            self._move(data)
            if self._left or len(data) < 2:
                return None
            if _take(data, 2) != b"\r\n":
                raise ChunkMissingTerminator(b"")
            self._size = None
        return None

    def _begin_chunk(self, data: bytearray) -> bool:
        """Take the size of the next chunk; return whether there is one."""
        if self._size is None:
            self._size = self._take_size(data)
            self._left = self._size or 0
        return self._size is not None

    def _move(self, data: bytearray) -> None:
        written = self._file.write(_take(data, min(len(data), self._left)))
        self._left -= written
        self._count += written


class TooLargeBody:
    """The body of a request answered before it was received; reading it raises a 413."""

    def read(self, size: int = -1) -> NoReturn:
        """Raise RequestEntityTooLarge."""
        raise RequestEntityTooLarge

    readline = readlines = __iter__ = read


def _take(data: bytearray, count: int) -> bytes:
    taken = bytes(data[:count])
    del data[:count]
    return taken
