"""The rate of calls that a comparison makes."""

import threading
import time


class Rate:
    """Allows `number` calls in a second, at even intervals, to several threads together."""

    def __init__(self, number: float) -> None:
        self._interval = 1 / number
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait until a call is allowed."""
        with self._lock:
            turn = self._next = max(self._next + self._interval, time.monotonic())
        time.sleep(max(0.0, turn - time.monotonic()))

    def take(self) -> bool:
        """Return True if a call is allowed now, and count it."""
        with self._lock:
            now = time.monotonic()
            if now < self._next:
                return False
            self._next = max(self._next, now - 1) + self._interval
            return True
