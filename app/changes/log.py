"""Reading the log of changes in the order of commits, and purging it.

The order of a sequence is not that of commits, and neither is that of the ids of transactions. A
reader therefore takes the changes that one snapshot shows and an earlier one does not, in the order
of the sequence: who changes a row after another has waited for the other's commit, so that no
snapshot shows the later change alone. SQLite has one writer at a time: its sequence is in order.
"""

import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from flask import current_app
from sqlalchemy import ColumnElement, Executable, inspect, or_, select, text, update

from app.database.dialects import insert_for
from app.database.purging import delete_batch
from app.database.session import connection, engines
from app.times import now

from .models import Change, ChangeEpoch

LOG, EPOCH = inspect(Change).columns, inspect(ChangeEpoch).columns
#: Maximum changes that are read at once.
PAGE = 100
# What has ended, as `xmin:xmax:running,running`. On SQLite, the next number of the sequence, which
# is not reset when all rows are purged.
SNAPSHOTS: dict[str, Executable] = {
    "postgresql": text("SELECT CAST(pg_current_snapshot() AS text)"),
    "sqlite": text(
        "SELECT ':' || (coalesce(max(seq), 0) + 1) || ':' FROM sqlite_sequence"
        " WHERE name = 'change_log'"
    ),
}
# The timeline of the server, which a failover ends.
TIMELINES: dict[str, Executable] = {
    "postgresql": text("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"),
    "sqlite": text("SELECT ''"),
}


class Snapshot(NamedTuple):
    """The transactions that have ended at a moment: all below `end`, except for those running."""

    end: int
    running: tuple[int, ...] = ()


class Position(NamedTuple):
    """A place in the log: all that `since` shows was read.

    Of what `until` shows beyond that, the changes up to `seq` were read, too.
    """

    since: Snapshot
    until: Snapshot | None = None
    seq: int = 0


class Page(NamedTuple):
    """Some changes in order, the position after them, and whether more can be read now."""

    changes: Sequence[Any]
    position: Position
    has_more: bool


def snapshot() -> Snapshot:
    """Return what has ended now."""
    with connection() as database:
        shown: str = database.execute(SNAPSHOTS[_database()]).scalar_one()
    _, end, running = shown.split(":")
    return Snapshot(int(end), tuple(int(each) for each in running.split(",") if each))


def read(
    position: Position, models: Collection[str], current: Snapshot, most: int | None = None
) -> Page:
    """Return the next changes of these models, up to the current snapshot; PAGE by default."""
    most = most or PAGE
    since, until, seq = position
    until = until or current
    if until == since:
        return Page([], position, has_more=False)
    order = _order()
    chosen = (
        select(*LOG)
        .where(
            or_(order >= since.end, order.in_(since.running)),
            order < until.end,
            order.not_in(until.running),
            LOG.seq > seq,
            LOG.model.in_(sorted(models)),
        )
        .order_by(LOG.seq)
        .limit(most + 1)
    )
    with connection() as database:
        found = database.execute(chosen).all()
    if len(found) <= most:
        return Page(found, Position(until), has_more=until != current)
    return Page(found[:most], Position(since, until, found[most - 1].seq), has_more=True)


def epoch() -> str:
    """Return the epoch of the log, which a restored database and a failover change."""
    with connection() as database:
        stored = database.scalar(select(EPOCH.epoch))
        if stored is None:
            first = insert_for(_database())(ChangeEpoch).values(number=1, epoch=_new_epoch())
            kept = {"epoch": EPOCH.epoch}
            database.execute(first.on_conflict_do_update(index_elements=[EPOCH.number], set_=kept))
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
    """Return the column that snapshots are about."""
    found: ColumnElement[int] = LOG.seq if _database() == "sqlite" else LOG.transaction_id
    return found


def _database() -> str:
    return engines.current.dialect.name


def _new_epoch() -> str:
    return secrets.token_hex(8)
