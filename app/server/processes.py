"""The processes and threads of a server: gunicorn's hooks, open files, memory and signals.

With glibc, the freed memory that a process keeps is limited.
"""

import ctypes
import os
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger

# The signals by which the master ends a worker.
END_SIGNALS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
# Files of a connection: its socket, and one being sent.
FILES = 2
# Connections that may be parked.
PARKED = 1000
# Files of a process besides its connections: log, database, calls and mails.
OTHER_FILES = 100
# Minimum connections with which a process can serve.
FEWEST_CONNECTIONS = 50
# Parameters of glibc, see mallopt(3).
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
# Threads share one arena, as only one of them runs Python at a time; each would otherwise keep the
# most it ever needed.
ARENAS = 1
# Bytes from which a block is returned to the system. A password hash needs a block of 19 MiB;
# allocating it each time takes a fifth to a third of the hash's time.
RETURNED_BLOCK = 1 << 20
# Seconds between two returns of free memory between smaller blocks.
TRIM_INTERVAL = 60
LIBC = ctypes.CDLL(None)


class NumberedWorker(Protocol):
    """A worker with a number."""

    number: int


def when_ready(server: Arbiter) -> None:
    """Limit the memory that the master and its workers keep; let no worker miss a signal.

    Until a worker has its own handlers of signals, it has those of the master, which note a signal
    for a loop that the worker never enters: it would serve on, until the master kills it after
    `graceful_timeout`. A worker that is sent a signal before that ends at once, as it has accepted
    nothing.
    """
    _limit_malloc()
    os.register_at_fork(
        before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_end_at_signals
    )


def pre_fork(server: Arbiter, worker: NumberedWorker) -> None:
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


def fit_connections(cfg: Config, log: Logger) -> None:
    """Raise the soft limit for `worker_connections`, else lower `worker_connections`.

    Raises SystemExit if the hard limit leaves too few. Parked connections have what is left of it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES * cfg.worker_connections + OTHER_FILES
    wanted = needed + PARKED
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    least = FILES * FEWEST_CONNECTIONS + OTHER_FILES
    if allowed < least:
        raise SystemExit(
            f"ostiary: the limit of open files is {hard}, and must be at least {least}"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        connections = (allowed - OTHER_FILES) // FILES
        log.warning(
            "a process keeps %d connections: the limit of open files is %d, and should be"
            " at least %d",
            connections,
            hard,
            needed,
        )
        cfg.set("worker_connections", connections)


def _limit_malloc() -> None:
    """Make this process and its forks share one arena and return large blocks."""
    if set_parameter := getattr(LIBC, "mallopt", None):
        set_parameter(M_ARENA_MAX, ARENAS)
        set_parameter(M_MMAP_THRESHOLD, RETURNED_BLOCK)


def trim_malloc() -> None:
    """Return free pages between blocks in use to the system; takes some milliseconds."""
    if trim := getattr(LIBC, "malloc_trim", None):
        trim(0)


class Threads:
    """The threads of a worker, which answer requests; they call functions in turn.

    They have less overhead than an executor's futures.
    """

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
