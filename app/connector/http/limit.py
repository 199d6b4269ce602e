"""The limit of concurrent calls of a data source."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.connector.errors import TooManyCallsError

_waits: ContextVar[bool] = ContextVar("waits", default=True)


class CallLimit:
    """A limit of `pool.maxConcurrent` concurrent calls; None is no limit."""

    def __init__(self, places: int | None) -> None:
        self._count = places
        self._places = threading.Semaphore(places or 0)

    @contextmanager
    def place(self, deadline: float) -> Iterator[None]:
        """Hold a place; wait for one until the call's deadline, then raise TooManyCallsError."""
        if self._count is None:
            yield
            return
        patience = max(0.0, deadline - time.monotonic()) if _waits.get() else 0.0
        if not self._places.acquire(timeout=patience):
            raise TooManyCallsError(f"{self._count} other calls are under way")
        try:
            yield
        finally:
            self._places.release()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Raise TooManyCallsError at once for calls in the block that would wait for a place.

    >>> with without_waiting():
    ...     source.orders()
    """
    scope = _waits.set(False)
    try:
        yield
    finally:
        _waits.reset(scope)
