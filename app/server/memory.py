"""Limits on the freed memory that a process keeps, with glibc."""

import ctypes

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


def limit_malloc() -> None:
    """Make this process and its forks share one arena and return large blocks."""
    if set_parameter := getattr(LIBC, "mallopt", None):
        set_parameter(M_ARENA_MAX, ARENAS)
        set_parameter(M_MMAP_THRESHOLD, RETURNED_BLOCK)


def trim_malloc() -> None:
    """Return free pages between blocks in use to the system; takes some milliseconds."""
    if trim := getattr(LIBC, "malloc_trim", None):
        trim(0)
