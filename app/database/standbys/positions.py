"""Positions in the write-ahead log, as numbers of its bytes, and the servers that report them.

See "Recovery Information Functions" and "Control Data Functions" of PostgreSQL's documentation.
"""

from typing import Any, NamedTuple

# How far a primary has written its log, beyond everything that was committed before.
WRITTEN = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
# How much of it is on its disk, and what differs once it was started again or recovered, and on
# every other server.
RUN = (
    "(pg_current_wal_flush_lsn() - '0/0')::bigint,"
    " pg_postmaster_start_time()::text, (pg_control_checkpoint()).redo_lsn::text"
)
# How far a standby has replayed it, and received it.
STANDBY = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END,"
    " (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::bigint"
)
# Bytes of a page of the log, and of the two kinds of headers that pages have.
PAGE, HEADERS = 8192, (24, 40)


class Run(NamedTuple):
    """A primary from its start, or its last checkpoint, on, and how far it had written."""

    position: int
    started: str
    checkpoint: str


class Progress(NamedTuple):
    """How far a standby has replayed the log, and how far it has received it."""

    replayed: int
    received: int


def is_level(replayed: int, written: int) -> bool:
    """Return True if a standby has replayed all that a primary has on its disk.

    That may end behind the header of a page, which standbys do not reach before the next record.
    """
    at_header = replayed % PAGE == 0 and written - replayed in HEADERS
    return replayed == written or at_header


def read_run(connection: Any) -> Run:
    """Return the run of a primary, by a connection of the driver."""
    position, *others = connection.query(f"SELECT {RUN}")
    return Run(int(position), *others)


def read_replayed(connection: Any) -> int | None:
    """Return how far a standby has replayed; None if it is none, by a connection of the driver."""
    position, _ = connection.query(STANDBY)
    return None if position is None else int(position)
