"""The threads of a worker, which answer requests."""

from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread


class Threads:
    """Threads that call functions in turn, with less overhead than an executor's futures."""

    def __init__(self, number: int) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # If a worker fails, its process does not wait for them.
        self._threads = [Thread(target=self._run, daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def call(self, function: Callable[[], None]) -> None:
        """Call a function, which raises no error, as soon as a thread is free."""
        self._calls.put(function)

    def shutdown(self, wait: bool) -> None:
        """End the threads after the calls already requested."""
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while function := self._calls.get():
            # Raised by a view; gunicorn ignores it, too.
            with suppress(SystemExit):
                function()
