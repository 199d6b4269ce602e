"""Requests that compute a password hash: recognizing them, and the queue in which they wait."""

import math
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

from flask import Flask

from app.hash_slots import hash_slots
from app.rest.collection import served_collections
from app.rest.endpoint import served_endpoints
from app.rest.routing import routed_path
from app.rest.writing import hashed_property

from .connection import ClientConnection
from .incoming import BufferedRequest, IncomingRequest

Item = TypeVar("Item", bound=Hashable)
# Characters by which a property's name may be written differently, in JSON and in forms.
ESCAPES = b"\\u", b"%"
#: Maximum bytes of a process's requests that wait to compute a password hash; most have a few
#: hundred.
MAX_BYTES = 16 * 1024 * 1024


class QueueEntry(NamedTuple):
    """The client of an item, and its size in bytes."""

    client: str
    size: int


class FairQueue(Generic[Item]):
    """A queue, limited in items and bytes, that takes the next item of each client in turn."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        # In the order of insertion.
        self._entries: dict[Item, QueueEntry] = {}
        # The items of each client, in the order of the clients' turns.
        self._lines: dict[str, dict[Item, None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, item: Item, client: str, size: int) -> list[Item]:
        """Add an item; remove and return items in excess: the newest of the client with most."""
        self._entries[item] = QueueEntry(client, size)
        self._lines.setdefault(client, {})[item] = None
        self._bytes += size
        surplus = []
        while len(self) > self._most or (self._bytes > self._most_bytes and len(self) > 1):
            surplus.append(self._newest_of_the_largest(client))
            self.remove(surplus[-1])
        return surplus

    def pop(self) -> Item:
        """Remove and return the next item: the first one of the client whose turn it is."""
        client, line = next(iter(self._lines.items()))
        item = next(iter(line))
        self.remove(item)
        # The client's next turn comes after those of all others.
        if self._lines.pop(client, None):
            self._lines[client] = line
        return item

    def remove(self, item: Item) -> None:
        """Remove an item."""
        client, size = self._entries.pop(item)
        self._bytes -= size
        line = self._lines[client]
        del line[item]
        if not line:
            del self._lines[client]

    def oldest(self) -> Item | None:
        """Return the oldest item, None if there is none."""
        return next(iter(self._entries), None)

    def _newest_of_the_largest(self, newcomer: str) -> Item:
        """Return the newest item of the client with most items or bytes."""
        is_crowded = len(self) > self._most

        def share(client: str) -> tuple[int, bool]:
            line = self._lines[client]
            size = len(line) if is_crowded else sum(self._entries[item].size for item in line)
            return size, client == newcomer

        return next(reversed(self._lines[max(self._lines, key=share)]))


def hashing_views(app: Flask) -> dict[str, str]:
    """Return the names of the views that compute hashes.

    Each has the property without which a request's body causes none, see `hashed_property`.
    """
    found = {
        name: "" for name, view in app.view_functions.items() if hasattr(view, "computes_hash")
    }
    collections = served_collections.of(app)
    for name, endpoint in served_endpoints.of(app).items():
        subject = collections.get(endpoint.subject or name.partition(".")[0])
        if (needed := hashed_property(endpoint, subject)) is not None:
            found[name] = needed
    return found


class HashCalls:
    """Recognizes requests as the app routes them."""

    def __init__(self, app: Flask) -> None:
        self._views = hashing_views(app)
        self._routes = app.url_map.bind("")
        self._root = app.config["REST_API_ROOT"]
        self._proxies = app.config["TRUSTED_PROXIES"]
        rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint in self._views]
        # Flask answers OPTIONS itself.
        self._verbs = set().union(*(rule.methods or () for rule in rules)) - {"OPTIONS"}

    def includes(self, request: BufferedRequest) -> bool:
        """Return True if gunicorn's request, with a complete body, computes a password hash."""
        if request.method not in self._verbs or not isinstance(request.body, BytesIO):
            return False
        hashed, body = self._hashed_property(request.method, request.path), request.body.getvalue()
        return hashed is not None and any(part in body for part in (hashed.encode(), *ESCAPES))

    def client(self, request: BufferedRequest) -> str:
        """Return the network of a request's client, as counted by throttles."""
        return request.network(self._proxies)

    def _hashed_property(self, verb: str, path: str) -> str | None:
        """Return the value of `hashing_views` for the view of a verb and path."""
        given = unquote_to_bytes(path).decode("latin-1")
        routed = routed_path(given, path, self._root).encode("latin-1")
        try:
            name, _ = self._routes.match(routed.decode(errors="replace"), method=verb)
        except Exception:  # the app answers whatever its router raises, also for want of a route
            return None
        return self._views.get(name)


class HashQueue:
    """Connections whose request will compute a password hash; only used by the main loop.

    Requests that have waited too long, or find no room, are refused by the app like any other: one
    by one, because all at once would occupy the threads.
    """

    def __init__(self, app: Flask, most: int, threads: int) -> None:
        self._calls = HashCalls(app)
        self._slots = hash_slots.of(app)
        # At least half of the threads remain for other requests.
        self._slots.most_threads = max(1, threads // 2)
        self._wait = app.config["PASSWORD_HASH_WAIT"]
        # The time until which requests may wait.
        self._end = math.inf
        self._queue: FairQueue[ClientConnection] = FairQueue(most, MAX_BYTES)
        self._slots.queue = self._queue
        self._refused: dict[ClientConnection, None] = {}
        self._is_refusing = False

    def add(self, conn: ClientConnection) -> bool:
        """Add a connection if its request computes a hash; return whether it does."""
        request = conn.incoming.request
        if not self._calls.includes(request):
            return False
        conn.began = time.monotonic()
        surplus = self._queue.add(conn, self._calls.client(request), _size(conn.incoming))
        self._refused.update(dict.fromkeys(surplus))
        return True

    def discard(self, conn: ClientConnection) -> None:
        """Remove a connection that was closed."""
        if conn in self._refused:
            del self._refused[conn]
        else:
            self._queue.remove(conn)

    def end_by(self, moment: float) -> None:
        """Limit all waiting to a point in time, because the worker is stopping."""
        self._end = moment

    def take_due(self) -> Iterator[ClientConnection]:
        """Remove and yield the connections that a thread should answer now.

        `turn` is their context manager.
        """
        while self._queue and self._slots.take():
            yield _started(self._queue.pop(), self._slots.turn(has_place=True))
        self._give_up()
        if self._refused and not self._is_refusing:
            conn = next(iter(self._refused))
            del self._refused[conn]
            self._is_refusing = True
            yield _started(conn, self._refusal())

    def _give_up(self) -> None:
        """Remove and refuse connections that have waited too long."""
        now = time.monotonic()
        latest = now if now >= self._end else now - self._wait
        while (conn := self._queue.oldest()) and conn.began <= latest:
            self._queue.remove(conn)
            self._refused[conn] = None

    @contextmanager
    def _refusal(self) -> Iterator[None]:
        try:
            with self._slots.turn(has_place=False):
                yield
        finally:
            self._is_refusing = False


def _size(incoming: IncomingRequest) -> int:
    """Return the bytes of a request and of everything its client has sent after it."""
    head = sum(len(name) + len(value) for name, value in incoming.request.headers)
    return head + len(incoming.request.body.getvalue()) + len(incoming.data)


def _started(conn: ClientConnection, turn: AbstractContextManager[None]) -> ClientConnection:
    conn.turn = turn
    conn.incoming.request.waited = time.monotonic() - conn.began
    return conn
