"""Find the end of a request in the bytes received, so that no thread waits for missing ones."""

import re

from gunicorn.http.errors import InvalidChunkSize, LimitRequestHeaders, LimitRequestLine

# Bytes of a request line; Node.js accepts as much for request line and header together.
MAX_LINE = 16 * 1024
# Bytes of the request line and all header fields.
MAX_HEAD = 64 * 1024
# Chunks of a body; gunicorn copies the remaining body for each chunk.
MAX_CHUNKS = 1000
# Bytes of the line with a chunk's size.
MAX_SIZE_LINE = 1024
# Bytes of a body that gunicorn may read beyond what it is asked for.
READ_AHEAD = 1024

BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
# HTTP/1.0 has no Expect header (RFC 9110, section 10.1.1).
EXPECTS = re.compile(rb"\r\nexpect:", re.IGNORECASE)
OLD_VERSION = re.compile(rb"(?:\r\n)?[^\r\n]* HTTP/1\.0\r\n")
SIZE = re.compile(rb"[0-9a-f]{1,16}", re.IGNORECASE)


class IncomingRequest:
    """The bytes of one request received so far; each byte is examined once.

    It only decides when the request can be parsed; gunicorn's parser validates it.
    """

    def __init__(self, max_body: int) -> None:
        self.data = bytearray()
        self.expects_continue = False
        self._max_body = max_body
        # Offsets: where to continue, and the ends of line, head and request once known.
        self._position = 0
        self._line_end = 0
        self._head_end = 0
        self._end: int | None = None
        # The chunked body: decoded bytes, number of chunks, and whether the last one was seen.
        self._decoded = 0
        self._chunks = 0
        self._last_chunk = False
        self._trailers = 0

    def add(self, data: bytes) -> bool:
        """Add received bytes; return whether the request can be parsed without waiting.

        Raises gunicorn's errors for a head that is too large and for chunks without a size.
        """
        self.data += data
        if not self._head_end and not self._find_head():
            return False
        if self._end is None:
            self._follow_chunks()
        return self._end is not None and len(self.data) >= self._end

    def _find_head(self) -> bool:
        """Look for the empty line; a line that ends without CR is malformed: parse at once."""
        start = max(0, self._position - 3)
        found = self.data.find(b"\r\n\r\n", start)
        end = found + 4 if found >= 0 else len(self.data)
        self._check_head(end)
        self._position = end
        if BARE_LINE_FEED.search(self.data, start, end):
            self._head_end = self._end = end
        elif found >= 0:
            self._read_head(end)
        return bool(self._head_end)

    def _check_head(self, end: int) -> None:
        """Limit the head and the request line, which an empty line may precede (RFC 9112, 2.2)."""
        if not self._line_end:
            start = 2 if self.data.startswith(b"\r\n") else 0
            found = self.data.find(b"\r\n", max(start, self._position - 1))
            self._line_end = max(0, found)
            if (found if found >= 0 else end) - start > MAX_LINE:
                raise LimitRequestLine(end, MAX_LINE)
        if end > MAX_HEAD:
            raise LimitRequestHeaders("")

    def _read_head(self, end: int) -> None:
        head = bytes(self.data[:end])
        self._head_end = end
        if not CHUNKED.search(head):
            length = CONTENT_LENGTH.search(head)
            self._end = end + self._bounded(int(length[1]) if length else 0)
        if self._end != end and not OLD_VERSION.match(head):
            self.expects_continue = bool(EXPECTS.search(head))

    def _bounded(self, length: int) -> int:
        """Return how many bytes of a body to wait for: none if it is too large."""
        return length if length <= self._max_body else 0

    def _follow_chunks(self) -> None:
        """Skip from chunk to chunk until the last one, or until the body is too large."""
        while self._end is None:
            if self._last_chunk:
                self._find_trailer_end()
                return
            line = self.data.find(b"\r\n", self._position, self._position + MAX_SIZE_LINE)
            if line < 0:
                if len(self.data) - self._position >= MAX_SIZE_LINE:
                    raise InvalidChunkSize(b"")
                return
            self._pass_chunk(line)

    def _pass_chunk(self, line: int) -> None:
        """Skip the chunk whose size line ends at `line`; raise InvalidChunkSize."""
        size = SIZE.match(self.data, self._position, line)
        self._chunks += 1
        if size is None or self._chunks > MAX_CHUNKS:
            raise InvalidChunkSize(b"")
        length = int(size[0], 16)
        room = self._max_body + READ_AHEAD - self._decoded
        self._last_chunk = length == 0
        self._trailers = line
        self._position = line if self._last_chunk else line + 2 + length + 2
        self._decoded += length
        if length > room:
            self._end = line + 2 + room

    def _find_trailer_end(self) -> None:
        """Look for the empty line after the last chunk and the trailer fields."""
        found = self.data.find(b"\r\n\r\n", self._position)
        if found >= 0:
            self._end = found + 4
        elif len(self.data) - self._trailers > MAX_HEAD:
            raise LimitRequestHeaders("")
        else:
            self._position = max(self._position, len(self.data) - 3)
