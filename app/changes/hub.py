"""The thread of a process that reads the log, and writes to all of its streams."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event as ThreadEvent
from threading import Lock, Thread

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from app.access.identity import set_identity
from app.errors import RETRY_AFTER, TemporarilyUnavailable, TooManyRequests
from app.state import AppState

from . import cursors, log
from .events import events_of
from .listening import Listener
from .log import Page, Position, Snapshot
from .streams import Stream, fitting
from .watched import watched_models

#: Maximum streams and long polls of a process, of a user, and of a network address.
MAX_STREAMS, MAX_OF_USER, MAX_OF_ADDRESS = 1000, 10, 100
#: Seconds between two looks at the log without a notification.
LOOK_INTERVAL = 1.0
#: Seconds between two looks at least, and while there is more to be read.
LEAST_INTERVAL = 0.02
#: Seconds between two comments that keep connections open and cursors young.
PING_INTERVAL = 15


class Hub:
    """The streams of a process, and the thread that feeds them while there are any."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._streams: set[Stream] = set()
        self._lock = Lock()
        self._wake = ThreadEvent()
        self._thread: Thread | None = None
        self._pinged = 0.0
        self._listener = Listener(app, self._wake.set)

    @property
    def number(self) -> int:
        """The number of open streams."""
        return len(self._streams)

    def wake(self) -> None:
        """Look at the log, and for streams that have gone, as soon as possible."""
        if self._streams:
            self._wake.set()

    def add(self, stream: Stream) -> None:
        """Feed a stream; raise TemporarilyUnavailable or TooManyRequests."""
        with self._lock:
            others = [other for other in self._streams if not other.sink.is_gone]
            if len(others) >= MAX_STREAMS:
                raise TemporarilyUnavailable("This process has too many change streams.")
            of_user = [each for each in others if each.user_id == stream.user_id]
            of_address = [each for each in others if each.network == stream.network]
            is_many = stream.user_id is not None and len(of_user) >= MAX_OF_USER
            if is_many or len(of_address) >= MAX_OF_ADDRESS:
                raise TooManyRequests(RETRY_AFTER)
            self._streams.add(stream)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="changes", daemon=True)
                self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """End all streams, and the thread."""
        thread = self._thread
        self._end(list(self._streams))
        self._wake.set()
        if thread:
            thread.join()

    def _run(self) -> None:
        """Feed the streams until there are none."""
        self._pinged = time.monotonic()
        interval = LOOK_INTERVAL
        while True:
            self._wake.wait(interval)
            self._wake.clear()
            with self._lock:
                self._streams = {each for each in self._streams if not each.sink.is_gone}
                if not self._streams:
                    self._thread = None
                    break
            interval = LOOK_INTERVAL
            try:
                with self._app.app_context():
                    self._listener.start()
                    if self._look():
                        interval = LEAST_INTERVAL
            except SQLAlchemyError as error:
                self._app.logger.warning("changes cannot be read: %s", type(error).__name__)
            except Exception:  # no error may end the thread
                self._app.logger.exception("Changes could not be sent.")
            time.sleep(LEAST_INTERVAL)
        self._listener.stop()

    def _look(self) -> bool:
        """Send what is new to the streams whose clients have taken the rest.

        Returns whether there is more for them now; the others wake the hub once they have taken it.
        """
        epoch, current = log.epoch(), log.snapshot()
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            if stream.epoch != epoch:
                # After a failover or a restore, its position means nothing any more.
                stream.epoch, stream.position, stream.needs_resync = epoch, Position(current), True
        ready = [stream for stream in streams if not stream.sink.is_busy]
        is_behind = False
        groups = defaultdict[Position, list[Stream]](list)
        for stream in ready:
            groups[stream.position].append(stream)
        for position, group in groups.items():
            page = log.read(position, watched_models.current, current)
            is_behind |= page.has_more
            for alike in _by_key(group):
                is_behind |= self._feed(alike, page, current, epoch)
        self._ping(ready, epoch)
        return is_behind

    def _feed(self, streams: Sequence[Stream], page: Page, current: Snapshot, epoch: str) -> bool:
        """Send what is new to streams that see the same of a page; return whether there is more."""
        first, written = streams[0], b""
        again = partial(log.read, first.position, watched_models.current, current)
        try:
            if page.changes:
                with self._as_caller(first):
                    page, written = fitting(first.form, first.filters, epoch, page, again)
        except HTTPException:
            # The caller may not read them any more.
            self._end(streams)
            return False
        except Exception:  # no error of some, such as of a hook, may keep others from their events
            self._app.logger.exception("Changes could not be sent to %d streams.", len(streams))
            self._end(streams)
            return False
        for stream in streams:
            stream.position = page.position
            data = written
            if stream.needs_resync:
                data = first.form.resync(cursors.write(epoch, page.position))
                stream.needs_resync = False
            if data:
                stream.sink.send(data)
                if stream.form.ends and self._remove(stream):
                    stream.sink.end()
        return page.has_more

    @contextmanager
    def _as_caller(self, stream: Stream) -> Iterator[None]:
        """Run a block as the caller of a stream; raise the access error if the token has ended."""
        with self._app.app_context():
            identity = stream.look_up()
            if identity.user_id != stream.user_id:
                raise identity.unauthorized()
            set_identity(identity)
            yield

    def _ping(self, streams: Iterable[Stream], epoch: str) -> None:
        """Send comments when it is time, and end what is old or may not be read any more."""
        now = time.monotonic()
        old = [each for each in streams if each.ends_at <= now]
        self._end(old)
        if now - self._pinged < PING_INTERVAL:
            return
        self._pinged = now
        for alike in _by_key(stream for stream in streams if stream in self._streams):
            try:
                with self._as_caller(alike[0]):
                    events_of(alike[0].filters, [])
            except Exception as error:  # no error of some may keep others from their comments
                if not isinstance(error, HTTPException):
                    self._app.logger.exception("%d streams were ended.", len(alike))
                self._end(alike)
                continue
            for stream in alike:
                stream.sink.send(stream.form.ping(cursors.write(epoch, stream.position)))

    def _end(self, streams: Iterable[Stream]) -> None:
        """End streams; a long poll without events is answered by an empty page."""
        for stream in streams:
            if self._remove(stream):
                position = cursors.write(stream.epoch, stream.position)
                stream.sink.send(stream.form.write([], position))
                stream.sink.end()

    def _remove(self, stream: Stream) -> bool:
        """Remove a stream; return whether it was open."""
        with self._lock:
            is_open = stream in self._streams
            self._streams.discard(stream)
        return is_open


def _by_key(streams: Iterable[Stream]) -> Iterator[list[Stream]]:
    """Yield the streams in groups that see the same events."""
    groups = defaultdict[object, list[Stream]](list)
    for stream in streams:
        groups[stream.key].append(stream)
    yield from groups.values()


hubs = AppState("streams of changes", factory=Hub)
