"""The paths that the new service answers: a file, which may change while the proxy runs."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

# Seconds between two checks of the file.
INTERVAL = 1.0
#: Maximum bytes of the file of moved paths, for the shadow proxy.
MAX_SIZE = 64 * 1024
# The characters that servers read as separators of segments.
_SEPARATOR = re.compile(r"[/\\]")
_LINE = re.compile(r"/|(/[A-Za-z0-9._~@:$,;=+-]+)+/?")


class MovedPaths:
    """The paths in a file, one on each line; each includes the paths below it.

    `report` is called with a sentence about each line that is not a path, and about a file that
    cannot be read, whose last paths are kept.
    """

    def __init__(self, file: Path | None, report: Callable[[str], None]) -> None:
        self._file = file
        self._report = report
        self._paths: list[list[str]] = []
        self._checked = float("-inf")
        self._version: object = None
        self._lock = threading.Lock()

    def __contains__(self, path: str) -> bool:
        """Return True if the new service answers a path, given as in a request.

        The old one must not get a path that it, or a server in front of it, reads as a moved one.
        """
        if self._file is not None:
            self._look(self._file)
        segments = _normal_segments(path)
        return any(segments[: len(moved)] == moved for moved in self._paths)

    def _look(self, file: Path) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._checked < INTERVAL:
                return
            self._checked = now
            try:
                status = file.stat()
                version: object = (status.st_mtime_ns, status.st_size, status.st_ino)
                if version != self._version:
                    self._paths = self._read(file)
            except (OSError, UnicodeDecodeError) as error:
                version = type(error)
                if version != self._version:
                    self._report(f"{file} cannot be read; the paths before it hold on")
            self._version = version

    def _read(self, file: Path) -> list[list[str]]:
        with file.open("rb") as content:
            data = content.read(MAX_SIZE + 1)
        if len(data) > MAX_SIZE:
            raise OSError("too large")
        paths = []
        for number, line in enumerate(data.decode().splitlines(), 1):
            path = line.strip()
            if not path or path.startswith("#"):
                continue
            if not _LINE.fullmatch(path) or has_dot_segment(path):
                self._report(f"{file}, line {number} is no path, and is ignored")
            else:
                paths.append(_normal_segments(path))
        return paths


def _normal_segments(path: str) -> list[str]:
    """Return the segments of a path in lower case, decoded, without empty and dot segments.

    LoopBack matches words in any case, and reads two slashes as one.
    """
    segments: list[str] = []
    for segment in _SEPARATOR.split(unquote(path).lower()):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return segments


def has_dot_segment(path: str) -> bool:
    """Return True if a path has a segment `.` or `..`, also if it is encoded."""
    return not {".", ".."}.isdisjoint(_SEPARATOR.split(unquote(path)))
