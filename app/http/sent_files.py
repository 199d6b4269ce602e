"""Files in responses: their types, and responses to conditional and range requests."""

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

# Bytes read at once if the server does not send the file by its descriptor.
BLOCK = 64 * 1024
# A range of the last bytes, by their number.
SUFFIX = re.compile(r"-(?=[0-9])0*([0-9]*)")

# Types of files by suffix. The system's own table differs between machines.
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
    """A file of which at most `left` bytes are read, even if it grows."""

    left = 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        data = super().read(self.left if size is None or size < 0 else min(size, self.left))
        self.left -= len(data)
        return data

    def part(self, start: int, count: int) -> Self:
        """Return the file, limited to a number of bytes from an offset."""
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
    """Add a file, or the requested part of it, to a response.

    `modified` is a Unix time in seconds; `open_part` returns a file, given an offset and a number
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
    """Return the environment with the effective range for a file of this size, or without one.

    A range is ignored for methods other than GET, units other than bytes, and if there are several
    (RFC 9110, 14.2). Werkzeug refuses a suffix longer than the file, and takes `-0` for the whole
    file; by 14.1.2 the former is the whole file and the latter nothing.
    """
    unit, _, ranges = environ.get("HTTP_RANGE", "").partition("=")
    if environ["REQUEST_METHOD"] != "GET" or unit.strip().lower() != "bytes" or "," in ranges:
        return {name: value for name, value in environ.items() if name != "HTTP_RANGE"}
    if suffix := SUFFIX.fullmatch(ranges.strip()):
        # No file size has so many digits.
        start = max(0, size - int(suffix[1][:19] or "0"))
        return {**environ, "HTTP_RANGE": f"bytes={start}-"}
    return environ
