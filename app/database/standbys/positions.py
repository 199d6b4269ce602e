"""Positions in the write-ahead log as byte numbers, and the servers that report them.

See "Recovery Information Functions" and "Control Data Functions" of PostgreSQL's documentation.
"""

from typing import Any, NamedTuple

# The primary's log position, beyond everything that was committed before.
WRITTEN = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
# The part of the log that is on disk, and a value that changes when a server is started again or
# recovered, and differs between servers.
RUN = (
    "(pg_current_wal_flush_lsn() - '0/0')::bigint,"
    " pg_postmaster_start_time()::text, (pg_control_checkpoint()).redo_lsn::text"
)
# The positions that a standby has replayed and received.
STANDBY = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END,"
    " (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::bigint"
)
# Bytes of a log page, and of the two kinds of page headers.
PAGE, HEADERS = 8192, (24, 40)


class Run(NamedTuple):
    """A primary since its start or last checkpoint, with its log position."""

    position: int
    started: str
    checkpoint: str


class Progress(NamedTuple):
    """The log positions that a standby has replayed and received."""

    replayed: int
    received: int


def is_level(replayed: int, written: int) -> bool:
    """Return True if a standby has replayed everything on the primary's disk.

    A primary's position may be just after a page header, which standbys reach only with the next
    record.
    """
    at_header = replayed % PAGE == 0 and written - replayed in HEADERS
    return replayed == written or at_header


def read_run(connection: Any) -> Run:
    """Return a primary's run, queried by a driver's connection."""
    position, *others = connection.query(f"SELECT {RUN}")
    return Run(int(position), *others)


def read_replayed(connection: Any) -> int | None:
    """Return the position that a standby has replayed; None if the server is not a standby."""
    position, _ = connection.query(STANDBY)
    return None if position is None else int(position)
