"""A service that is compared: calls to it, and its answers, in bounded time and memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from app.problems import ConfigurationError

#: Maximum bytes of a compared response; of larger ones only status and size are compared.
MAX_BODY = 1024 * 1024
#: Maximum bytes that are read of a response to determine its size.
MAX_READ = 64 * 1024 * 1024
#: Seconds to connect to a service that is compared.
CONNECT_TIMEOUT = 5
#: Seconds between the parts of a compared response.
READ_TIMEOUT = 30


class Json(NamedTuple):
    """A parsed body; its value may be null."""

    value: Any


class NoAnswerError(Exception):
    """A service did not answer; the message is the reason."""


@dataclass(frozen=True)
class Answer:
    """The answer of a service; `body` is None if it is too large to be compared."""

    status: int
    content_type: str
    body: bytes | None
    size: int

    @property
    def known_size(self) -> int:
        """The size, or MAX_READ for a larger answer, of which parts of any size are read."""
        return min(self.size, MAX_READ)

    @cached_property
    def json(self) -> Json | None:
        """The parsed body; None if there is none, or it is not JSON."""
        if not self.body or "json" not in self.content_type:
            return None
        try:
            return Json(json.loads(self.body))
        except (ValueError, RecursionError):
            return None


class Service:
    """A service at the address of its API, such as `http://127.0.0.1:3000/api`."""

    def __init__(self, url: str) -> None:
        """Raise ConfigurationError for an invalid address."""
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigurationError(f"{_shown_url(url)} is not an http or https address")
        if address.username or address.query or address.fragment:
            raise ConfigurationError(
                f"{_shown_url(url)} must be the address of an API alone, without user or query"
            )
        self.root = address.path.rstrip("/")
        self.is_https = address.scheme == "https"
        self.host, self.port = address.hostname, address.port
        # Neither cookies nor credentials of the environment are sent.
        self._pool = urllib3.connection_from_url(
            f"{address.scheme}://{address.netloc}",
            maxsize=8,
            timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT, read=READ_TIMEOUT),
        )

    def send(
        self, verb: str, target: str, headers: Mapping[str, str], most: int = MAX_BODY
    ) -> Answer:
        """Send a call below the root, once and without following redirects; raise NoAnswerError.

        The answer has its body if that is not larger than `most` bytes.
        """
        try:
            response = self._pool.urlopen(
                verb,
                f"{self.root}{target}",
                headers=headers,
                redirect=False,
                retries=False,
                assert_same_host=False,
                preload_content=False,
            )
        except (HTTPError, ValueError, OSError) as error:
            raise NoAnswerError(type(error).__name__) from None
        return _read(response, most)


def _read(response: urllib3.BaseHTTPResponse, most: int) -> Answer:
    parts: list[bytes] = []
    size = 0
    try:
        for part in response.stream(64 * 1024):
            size += len(part)
            if size <= most:
                parts.append(part)
            if size > MAX_READ:
                break
    except (HTTPError, ValueError, OSError) as error:
        raise NoAnswerError(type(error).__name__) from None
    finally:
        # A connection goes back to the pool as soon as its answer was read.
        response.close()
    body = b"".join(parts) if size <= most else None
    return Answer(response.status, response.headers.get("Content-Type", ""), body, size)


def _shown_url(url: str) -> str:
    """Return an address without its user and query, which may be secrets."""
    address = urlsplit(url)
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"[:200]
