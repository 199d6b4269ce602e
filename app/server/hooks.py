"""gunicorn's hooks for memory, for the numbers of workers, and for signals to starting workers."""

import os
import signal
from typing import TYPE_CHECKING

from gunicorn.arbiter import Arbiter

from .resources import limit_malloc

if TYPE_CHECKING:
    from .worker import BufferingWorker

# The signals by which the master ends a worker.
END_SIGNALS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}


def when_ready(server: Arbiter) -> None:
    """Limit the memory that the master and its workers keep; let no worker miss a signal.

    Until a worker has its own handlers of signals, it has those of the master, which note a signal
    for a loop that the worker never enters: it would serve on, until the master kills it after
    `graceful_timeout`. A worker that is sent a signal before that ends at once, as it has accepted
    nothing.
    """
    limit_malloc()
    os.register_at_fork(
        before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_end_at_signals
    )


def pre_fork(server: Arbiter, worker: "BufferingWorker") -> None:
    """Give a worker the lowest free number."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = min(set(range(1, len(taken) + 2)) - taken)


def _block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)


def _end_at_signals() -> None:
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _unblock_signals()
