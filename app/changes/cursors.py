"""Cursors: texts by which clients continue after what they have seen.

They are not signed: a cursor only selects a position, and what it shows is decided by the rules.
"""

import base64
import binascii
import time
from collections.abc import Iterator

from flask import current_app

from .log import Position, Snapshot

#: Maximum characters of a cursor that is read; it has the ids of the transactions that run.
MAX_LENGTH = 8000
#: Maximum transactions that run in a cursor that is read.
MAX_RUNNING = 1000
MAX_NUMBER = 2**63


def write(epoch: str, position: Position) -> str:
    """Return the cursor of a position, given out now."""
    since, until, seq = position
    fields = [epoch, f"{int(time.time()):x}", f"{seq:x}", _write(since)]
    if until is not None:
        fields.append(_write(until))
    return base64.urlsafe_b64encode(".".join(fields).encode()).decode().rstrip("=")


def read(text: str, epoch: str) -> Position | None:
    """Return the position of a cursor; None if it is unknown, expired or of another epoch."""
    if len(text) > MAX_LENGTH or not text.isascii():
        return None
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
        given, issued, seq, *snapshots = decoded.split(".")
        since, *until = map(_read, snapshots[:2])
        position = Position(since, until[0] if until else None, _number(seq))
        oldest = time.time() - current_app.config["CHANGES_RETENTION"]
        is_valid = given == epoch and _number(issued) >= oldest
    except (binascii.Error, ValueError, TypeError):
        return None
    return position if is_valid else None


def _write(snapshot: Snapshot) -> str:
    """Return a snapshot as text: the running transactions by their distance from the end."""
    return "-".join(f"{number:x}" for number in _relative(snapshot))


def _relative(snapshot: Snapshot) -> Iterator[int]:
    yield snapshot.end
    yield from (snapshot.end - running for running in snapshot.running)


def _read(text: str) -> Snapshot:
    end, *distances = map(_number, text.split("-"))
    if len(distances) > MAX_RUNNING:
        raise ValueError("too many transactions")
    return Snapshot(end, tuple(end - distance for distance in distances))


def _number(text: str) -> int:
    """Return a hexadecimal number that fits into a column; raise ValueError for another one."""
    number = int(text[:17], 16)
    if not 0 <= number < MAX_NUMBER:
        raise ValueError("no number of the database")
    return number
