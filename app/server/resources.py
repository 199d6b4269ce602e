"""Limits on the resources of a process: open files, and freed memory that it keeps, with glibc."""

import ctypes
import resource

from gunicorn.config import Config
from gunicorn.glogging import Logger

# Files of a connection: its socket, and one being sent.
FILES = 2
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


def fit_connections(cfg: Config, log: Logger) -> None:
    """Raise the soft limit for `worker_connections`, else lower `worker_connections`.

    Raises SystemExit if the hard limit leaves too few.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES * cfg.worker_connections + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
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


def limit_malloc() -> None:
    """Make this process and its forks share one arena and return large blocks."""
    if set_parameter := getattr(LIBC, "mallopt", None):
        set_parameter(M_ARENA_MAX, ARENAS)
        set_parameter(M_MMAP_THRESHOLD, RETURNED_BLOCK)


def trim_malloc() -> None:
    """Return free pages between blocks in use to the system; takes some milliseconds."""
    if trim := getattr(LIBC, "malloc_trim", None):
        trim(0)
