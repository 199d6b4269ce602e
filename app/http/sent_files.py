"""Files in responses: their types, and what a conditional request, or one for a part, is sent."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from io import FileIO
from typing import TYPE_CHECKING, Self

from werkzeug import Response
from werkzeug.exceptions import PreconditionFailed
from werkzeug.wsgi import wrap_file

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# Bytes that are read at once where the server does not send the descriptor.
BLOCK = 64 * 1024
# A range of the last bytes, by their number.
SUFFIX = re.compile(r"-(?=[0-9])0*([0-9]*)")

# The types of files by the ends of their names. Those of the machine differ from one to the next.
TYPES = {
    "": "application/octet-stream",
    ".aac": "audio/aac",
    ".avif": "image/avif",
    ".css": "text/css",
    ".csv": "text/csv",
    ".gif": "image/gif",
    ".htm": "text/html",
    ".html": "text/html",
    ".ico": "image/vnd.microsoft.icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": "application/json",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".ogg": "audio/ogg",
    ".otf": "font/otf",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xhtml": "application/xhtml+xml",
    ".xml": "application/xml",
    ".zip": "application/zip",
}


class OpenFile(FileIO):
    """A file of which no more is read than `left` bytes, however it grows."""

    left = 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, at most so many."""
        data = super().read(self.left if size is None or size < 0 else min(size, self.left))
        self.left -= len(data)
        return data

    def part(self, start: int, count: int) -> Self:
        """Return the file, of which so many bytes are read from an offset."""
        self.seek(start)
        self.left = count
        return self


def send_file(
    response: Response,
    environ: "WSGIEnvironment",
    size: int,
    modified: float,
    etag: str,
    open_part: Callable[[int, int], OpenFile],
) -> None:
    """Let a response have a file, or the part of it that a request asks for.

    `modified` is in seconds of Unix time; `open_part` returns a file, given an offset and a number
    of bytes, and is not called for HEAD and 304. Raises PreconditionFailed and
    RequestedRangeNotSatisfiable.
    """
    response.last_modified = datetime.fromtimestamp(modified, UTC)
    response.set_etag(etag)
    response.content_length = size
    environ = _with_usable_range(environ, size)
    response.make_conditional(environ, accept_ranges=True, complete_length=size)
    if response.status_code == PreconditionFailed.code:
        raise PreconditionFailed
    if environ["REQUEST_METHOD"] == "GET" and response.status_code != 304:
        with ExitStack() as opened:
            start, count = response.content_range.start or 0, response.content_length
            file = opened.enter_context(open_part(start, count))
            response.response = wrap_file(environ, file, BLOCK)
            response.direct_passthrough = True
            # The server closes it.
            opened.pop_all()


def _with_usable_range(environ: "WSGIEnvironment", size: int) -> "WSGIEnvironment":
    """Return the environment with the range that a file of a size is sent by, or without one.

    Ignored are a range of another method than GET, of another unit than bytes, and several ranges
    (RFC 9110, 14.2). Of a suffix, Werkzeug refuses one longer than the file, and takes `-0` for all
    of it; the former is the whole file, and the latter nothing (14.1.2).
    """
    unit, _, ranges = environ.get("HTTP_RANGE", "").partition("=")
    if environ["REQUEST_METHOD"] != "GET" or unit.strip().lower() != "bytes" or "," in ranges:
        return {name: value for name, value in environ.items() if name != "HTTP_RANGE"}
    if suffix := SUFFIX.fullmatch(ranges.strip()):
        # No file has a size of so many digits.
        start = max(0, size - int(suffix[1][:19] or "0"))
        return {**environ, "HTTP_RANGE": f"bytes={start}-"}
    return environ
