"""gunicorn's hooks for memory, and for the numbers of workers."""

from typing import TYPE_CHECKING

from gunicorn.arbiter import Arbiter

from .memory import limit_malloc

if TYPE_CHECKING:
    from .worker import BufferingWorker


def when_ready(server: Arbiter) -> None:
    """Limit the memory that the master and its workers keep."""
    limit_malloc()


def pre_fork(server: Arbiter, worker: "BufferingWorker") -> None:
    """Give a worker the lowest free number."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = min(set(range(1, len(taken) + 2)) - taken)
