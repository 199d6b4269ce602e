"""Recorded calls: of a HAR file, or of the access log of nginx in its format `combined`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.problems import ConfigurationError

from .calls import Call, below, read_call

#: Maximum bytes of a HAR file with calls to compare.
MAX_HAR = 64 * 1024 * 1024
#: Maximum characters of a line of a log with calls to compare.
MAX_LINE = 16 * 1024
#: Maximum number of different calls of a file that are compared.
MAX_CALLS = 10_000
_REQUEST = re.compile(r'\] "([A-Z]+) (\S+)(?: HTTP/[\d.]+)?" \d{3} ')
# As nginx escapes quotes, backslashes and control characters.
_ESCAPED = re.compile(r"\\x([0-9A-F]{2})")


def recorded_calls(file: Path, root: str, excepted: frozenset[str]) -> list[Call]:
    """Return the different reading calls below the root of an API that a file has.

    Parameters that may be tokens are left out. Raises ConfigurationError if the file has no calls.
    """
    try:
        requests = list(_har(file)) if _is_har(file) else _log(file)
        calls = list(_reading(requests, root, excepted))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is neither a HAR file nor a log"
        raise ConfigurationError(f"{file} cannot be read: {reason}") from None
    if not calls:
        raise ConfigurationError(f"{file} has no GET or HEAD of a path below {root or '/'}")
    return calls


def _is_har(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _har(file: Path) -> Iterator[tuple[str, str]]:
    if file.stat().st_size > MAX_HAR:
        raise ConfigurationError(f"{file} is larger than {MAX_HAR // 1024 // 1024} MiB")
    content: Any = json.loads(file.read_text(encoding="utf-8-sig"))
    entries = content["log"]["entries"] if isinstance(content.get("log"), dict) else ()
    for entry in entries:
        request = entry.get("request") if isinstance(entry, dict) else None
        if isinstance(request, dict):
            yield str(request.get("method")), str(request.get("url"))


def _log(file: Path) -> Iterator[tuple[str, str]]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        while line := lines.readline(MAX_LINE):
            if found := _REQUEST.search(line):
                yield found[1], _ESCAPED.sub(lambda code: chr(int(code[1], 16)), found[2])


def _reading(requests: Any, root: str, excepted: frozenset[str]) -> Iterator[Call]:
    known: set[tuple[str, str]] = set()
    for verb, target in requests:
        try:
            address = urlsplit(target)
        except ValueError:
            # Clients may have sent anything.
            continue
        path = below(root, address.path)
        call = read_call(verb, f"{path}?{address.query}", excepted) if path else None
        if call is None or (call.verb, call.target) in known:
            continue
        known.add((call.verb, call.target))
        yield call
        if len(known) == MAX_CALLS:
            return
