"""Open streams: who reads what, from which position, and how events are written."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from app.access.identity import Identity
from app.http.responses import encode_json
from app.ids import Id
from app.rest.filters.tree import Filter

from . import cursors
from .events import Event, events_of
from .log import Page, Position

#: Seconds after which a stream ends, so that clients come back to the instance with fewest, and a
#: fraction of them by which it may be shorter.
LIFETIME, JITTER = 900, 0.2


#: Maximum bytes that are sent to a stream before its client has taken them, except for one event.
MAX_BYTES = 65536


class Sink(Protocol):
    """Where a stream is written to; it takes what is sent without waiting."""

    # Whether the client has gone.
    is_gone: bool

    @property
    def is_busy(self) -> bool:
        """Whether the client has not taken what was sent."""

    def send(self, data: bytes) -> None:
        """Send a part."""

    def end(self) -> None:
        """End the response."""


class Form(Protocol):
    """How events are written."""

    def write(self, events: Sequence[Event], cursor: str) -> bytes:
        """Return the events as they are sent, with the cursor after them; empty for nothing."""

    def resync(self, cursor: str) -> bytes:
        """Return what tells a client to read all rows anew."""

    def ping(self, cursor: str) -> bytes:
        """Return what keeps the connection, and the cursor, young."""

    # Forms of the same name write the same.
    name: str
    # The first bytes, by which the response begins at once.
    opening: bytes
    # Whether the response ends with the first events, and for how long it waits for them.
    ends: bool
    seconds: float


class EventStream:
    """Server-sent events, in the form of LoopBack 3; those of several models have the model."""

    opening = b":ok\n\n"
    ends = False

    def __init__(self, has_models: bool) -> None:
        self._has_models = has_models
        self.name = "models" if has_models else "model"
        self.seconds = LIFETIME * (1 - JITTER * random.random())  # noqa: S311 no secret

    def write(self, events: Sequence[Event], cursor: str) -> bytes:
        """Return the events; the last one has the cursor."""
        parts = list(map(self._event, events))
        return "".join([*parts[:-1], *(f"id: {cursor}\n{last}" for last in parts[-1:])]).encode()

    def resync(self, cursor: str) -> bytes:
        """Return the event `resync`."""
        return f"id: {cursor}\nevent: resync\ndata: {{}}\n\n".encode()

    def ping(self, cursor: str) -> bytes:
        """Return a comment."""
        return f"id: {cursor}\n:\n\n".encode()

    def _event(self, event: Event) -> str:
        if event.type is None:
            return f"event: resync\ndata: {json.dumps({'model': event.model})}\n\n"
        sent = event.to_json()
        if not self._has_models:
            del sent["model"]
        return f"event: data\ndata: {encode_json(sent).decode().rstrip()}\n\n"


class Poll:
    """One page as JSON, when there are events or the time is over."""

    name = "poll"
    opening = b" "
    ends = True

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def write(self, events: Sequence[Event], cursor: str) -> bytes:
        """Return the page."""
        return encode_json(page_of(events, cursor))

    def resync(self, cursor: str) -> bytes:
        """Return a page that says so."""
        return encode_json(page_of([], cursor, resync=True))

    def ping(self, cursor: str) -> bytes:
        """Return white space, which is no part of the JSON."""
        return b" "


def page_of(events: Sequence[Event], cursor: str, resync: bool = False) -> dict[str, Any]:
    """Return the object of a page; `resync`: all rows must be read anew."""
    changes = [event.to_json() for event in events if event.type]
    models = sorted({event.model for event in events if event.type is None})
    missed = {"resync": resync or models} if resync or models else {}
    return {"changes": changes, "next": cursor, **missed}


def fitting(
    form: Form, filters: Mapping[str, Filter], epoch: str, page: Page, again: Callable[[int], Page]
) -> tuple[Page, bytes]:
    """Return what the current caller is sent of a page, with at most MAX_BYTES, and the page.

    A page of more is read again with fewer changes; one change may have more. Empty if the caller
    sees nothing of it. Raises the access error.
    """
    while True:
        events = events_of(filters, page.changes)
        written = form.write(events, cursors.write(epoch, page.position)) if events else b""
        if len(written) <= MAX_BYTES or len(page.changes) == 1:
            return page, written
        page = again(len(page.changes) // 2)


class Stream:
    """An open stream; changed by the thread that reads the log alone."""

    def __init__(
        self,
        form: Form,
        filters: Mapping[str, Filter],
        epoch: str,
        position: Position,
        caller: Identity,
        look_up: Callable[[], Identity],
        network: str,
    ) -> None:
        self.form, self.filters = form, filters
        self.epoch, self.position = epoch, position
        self.look_up, self.network = look_up, network
        self.user_id: Id | None = caller.user_id
        self.ends_at = time.monotonic() + form.seconds
        self.needs_resync = False
        self.sink: Sink
        # Streams with the same key see the same events.
        given = {name: filter_.raw for name, filter_ in filters.items()}
        token = caller.token.digest if caller.token and self.user_id is not None else ""
        self.key = (token, json.dumps(given, sort_keys=True), form.name)


class QueueSink:
    """The parts of a stream for a thread that waits for them, under servers other than ours."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.is_gone = False
        self._parts = SimpleQueue[bytes | None]()
        self._on_change = on_change

    @property
    def is_busy(self) -> bool:
        """Whether the client has not taken all parts."""
        return not self._parts.empty()

    def send(self, data: bytes) -> None:
        """Add a part."""
        self._parts.put(data)

    def end(self) -> None:
        """End the parts."""
        self._parts.put(None)

    def __iter__(self) -> Iterator[bytes]:
        """Return the parts."""
        return self

    def __next__(self) -> bytes:
        """Return the next part once it is there."""
        part = self._parts.get()
        if not self.is_busy:
            self._on_change()
        if part is None:
            raise StopIteration
        return part

    def close(self) -> None:
        """Note that the client has gone; the server calls it."""
        self.is_gone = True
        self._on_change()
