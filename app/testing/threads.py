"""Calls at the same time, as of several clients."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

Result = TypeVar("Result")

# Seconds after which the threads give up waiting for each other.
START_TIMEOUT = 60


class Parallel:
    """Calls a function in several threads at the same time."""

    def __call__(self, function: Callable[[], Result], n: int) -> list[Result]:
        """Call a function in `n` threads at once; return the `n` results.

        If calls raise, the first error is raised after all have ended. The threads have no app
        context.
        """
        barrier = Barrier(n)

        def call() -> Result:
            barrier.wait(START_TIMEOUT)
            return function()

        with ThreadPoolExecutor(n) as threads:
            calls = [threads.submit(call) for _ in range(n)]
        return [each.result() for each in calls]
