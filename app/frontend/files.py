"""The file for a URL's path, and the response that sends it."""

import os
import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from werkzeug import Response

from app.http.sent_files import TYPES, OpenFile, send_file

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

INDEX = "index.html"
# Immutable files are cached for a year; all others are revalidated each time.
KEPT, ASKED_FOR = "public, max-age=31536000, immutable", "no-cache"
# Names with a hash of the content, as bundlers generate them: `main.3f2a1c.js`, `index-BsX2k9.css`.
# The hash has at least six characters, including a digit, and is hexadecimal or has a capital.
# Words followed by a number, such as `Version2`, `IMG_1234` or `20240115`, do not count.
HASHED = re.compile(
    r"[.-](?=\w*[0-9])(?![A-Za-z]*_?[0-9]*[a-z]{0,2}\.)"
    r"([0-9a-f]{6,}|(?=\w*[A-Z])[0-9A-Za-z_]{6,12})(\.chunk)?\.[0-9a-z]+$",
    re.ASCII,
)
# Folders whose names begin with a dot, but which are public (RFC 8615).
WELL_KNOWN = ".well-known"
# Source maps contain the source code; builds often write them without being told to.
SOURCE_MAP = ".map"
# Never part of a name: other systems' separators, control characters, and invalid UTF-8.
ODD_CHARACTER = re.compile(r"[\\:\x00-\x1f\x7f\ufffd]")


def find_file(folder: Path, path: str) -> Path | None:
    """Return the file in a folder for a URL's path, or None if there is none to send.

    The path of a folder stands for the `index.html` in it.
    """
    if not is_plain(path):
        return None
    file = folder.joinpath(path.strip("/"))
    try:
        if path.endswith("/") or file.is_dir():
            file /= INDEX
        # The folder itself may be a link; links in it must not lead outside of it.
        is_inside = file.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
        return file if is_inside and file.is_file() and os.access(file, os.R_OK) else None
    except (OSError, RuntimeError):
        # The name, or that of a link's target, is too long. Before Python 3.13, a link to itself
        # raises RuntimeError.
        return None


def is_plain(path: str) -> bool:
    """Return True if no segment of a URL's path is hidden, empty or odd; the last may be empty."""
    segments = path.removeprefix("/").removesuffix("/").split("/")
    if segments[0] == WELL_KNOWN:
        del segments[0]
    return (
        path.startswith("/")
        and not ODD_CHARACTER.search(path)
        and not path.lower().endswith(SOURCE_MAP)
        and (path == "/" or all(segment and segment[0] != "." for segment in segments))
    )


def file_response(path: Path, environ: "WSGIEnvironment") -> Response:
    """Return the response with a file, or with the requested part of it.

    Raises PreconditionFailed, RequestedRangeNotSatisfiable, and OSError if it cannot be read.
    """
    with ExitStack() as opened:
        file = opened.enter_context(OpenFile(path))
        found = os.fstat(file.fileno())
        response = Response(mimetype=TYPES.get(path.suffix.lower(), TYPES[""]))
        response.headers["Cache-Control"] = KEPT if HASHED.search(path.name) else ASKED_FOR
        etag = f"{found.st_mtime_ns:x}-{found.st_size:x}"
        send_file(response, environ, found.st_size, found.st_mtime, etag, file.part)
        if response.direct_passthrough:
            # The server closes it.
            opened.pop_all()
    return response
