"""Reading the log of changes in the order of commits, and purging it.

The order of a sequence is not that of commits. On PostgreSQL a reader therefore takes the changes
of whole windows: from the transaction below which it has read everything, to the oldest one that
still runs. Within a window changes are in the order of the sequence, in which no change of a row
precedes an earlier one: its transaction had to wait for the other's end. SQLite has one writer at a
time, so that the sequence itself is the transaction.
"""

import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from flask import current_app
from sqlalchemy import BigInteger, Executable, inspect, literal_column, select, text, update
from sqlalchemy.sql.elements import ColumnElement

from app.database.dialects import insert_for
from app.database.purging import delete_batch
from app.database.session import connection, engines
from app.times import now

from .models import Change, ChangeEpoch

LOG = inspect(Change).columns
#: Maximum changes that are read at once.
PAGE = 100
# The oldest transaction that runs; on SQLite, the next number of the sequence, which is not reset
# when all rows are purged.
HORIZONS: dict[str, Executable] = {
    "postgresql": select(
        literal_column("pg_snapshot_xmin(pg_current_snapshot())::text::bigint", BigInteger())
    ),
    "sqlite": text("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name='change_log'"),
}
# The timeline of the server, which a failover ends.
TIMELINES: dict[str, Executable] = {
    "postgresql": text("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"),
    "sqlite": text("SELECT ''"),
}
EPOCH = inspect(ChangeEpoch).columns


class Position(NamedTuple):
    """A place in the log: what comes before it was read.

    All transactions below `low` were read, and of those from there to `high` the changes up to
    `seq`.
    """

    low: int
    high: int
    seq: int


class Page(NamedTuple):
    """Some changes in order, and the position after them; whether there are more of the window."""

    changes: Sequence[Any]
    position: Position
    has_more: bool


def horizon() -> int:
    """Return the transaction at which readers must stop: those below it have ended."""
    with connection() as database:
        found: int = database.execute(HORIZONS[_database()]).scalar_one()
    return found


def newest() -> Position:
    """Return the position after all changes."""
    high = horizon()
    return Position(high, high, 0)


def read(position: Position, models: Collection[str], high: int) -> Page:
    """Return the next changes of these models, up to a horizon."""
    low, end, seq = position
    if low == end:
        end = max(high, low)
    if low == end:
        return Page([], position, False)
    order = _order()
    chosen = (
        select(*LOG)
        .where(order >= low, order < end, LOG.seq > seq, LOG.model.in_(sorted(models)))
        .order_by(LOG.seq)
        .limit(PAGE + 1)
    )
    with connection() as database:
        found = database.execute(chosen).all()
    if len(found) <= PAGE:
        return Page(found, Position(end, end, 0), False)
    return Page(found[:PAGE], Position(low, end, found[PAGE - 1].seq), True)


def epoch() -> str:
    """Return the epoch of the log, which a restored database and a failover change."""
    with connection() as database:
        stored = database.scalar(select(EPOCH.epoch))
        if stored is None:
            first = insert_for(_database())(ChangeEpoch).values(id=1, epoch=_new_epoch())
            kept = {"epoch": EPOCH.epoch}
            database.execute(first.on_conflict_do_update(index_elements=[EPOCH.id], set_=kept))
            stored = database.scalar(select(EPOCH.epoch))
        timeline = database.execute(TIMELINES[_database()]).scalar_one()
    return f"{stored}{timeline}"


def begin_epoch() -> None:
    """Begin a new epoch, so that all cursors are unknown: for a database that was restored."""
    epoch()
    with connection() as database:
        database.execute(update(ChangeEpoch).values(epoch=_new_epoch()))


def purge_batch() -> int:
    """Delete changes older than CHANGES_RETENTION, at most PURGE_BATCH; return their number."""
    oldest = now() - timedelta(seconds=current_app.config["CHANGES_RETENTION"])
    expired = select(LOG.seq).where(LOG.created < oldest).order_by(LOG.created)
    return delete_batch(expired)


def _order() -> ColumnElement[int]:
    """Return the column by which changes are in windows."""
    found: ColumnElement[int] = LOG.seq if _database() == "sqlite" else LOG.transaction_id
    return found


def _database() -> str:
    return engines.current.dialect.name


def _new_epoch() -> str:
    return secrets.token_hex(8)
