"""One request of at most 100 kB, and what requests are made of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

# Bytes of a body, the default of MAX_BODY_BYTES; characters of a path with its query, which fit
# into a request line; bytes of one header field, and of all of them.
BODY, TARGET, FIELD, HEAD = 100_000, 16_000, 8_000, 48_000
CALLER = {"Authorization": "{token}"}


@dataclass(frozen=True)
class Request:
    """One request; `{token}` in a header is the caller's token, `{round}` in a body differs."""

    name: str
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def to_json(value: Any) -> str:
    """Return a value as JSON in a query."""
    return quote(json.dumps(value, separators=(",", ":")), safe='[]{}:,"')


def repeat(part: str, start: str = "", end: str = "") -> bytes:
    """Return a body of as many parts as it may have."""
    return (start + part * ((BODY - 100) // len(part)) + end).encode()


def marks(length: int) -> str:
    """Return a letter with combining marks in the order that takes longest to normalize."""
    return "a" + "".join(chr(0x300 + number % 2 * 0x16) for number in range(length - 1))


def get(name: str, path: str) -> Request:
    """Return a GET with the token of the caller."""
    return Request(name, "GET", path, headers=CALLER)


def post(name: str, path: str, body: Any) -> Request:
    """Return a POST of JSON to a path below the base path."""
    text = json.dumps(body, separators=(",", ":")).encode()
    return raw(name, "application/json", text, f"/api/{path}")


def raw(name: str, kind: str, body: bytes, path: str = "/api/todos") -> Request:
    """Return a POST of a body of a media type."""
    return Request(name, "POST", path, body, {**CALLER, "Content-Type": kind})
