"""Cursors: texts by which clients continue after what they have seen.

They are not signed: a cursor only selects a position, and what it shows is decided by the rules.
"""

import base64
import binascii
import time
from typing import NamedTuple

from flask import current_app

from .log import Position

#: Maximum characters of a cursor that is read.
MAX_LENGTH = 200
MAX_NUMBER = 2**63


class Cursor(NamedTuple):
    """A position, the epoch that it belongs to, and when it was given out, in seconds."""

    epoch: str
    issued: int
    position: Position

    def write(self) -> str:
        """Return the text of the cursor."""
        fields = [self.epoch, *(f"{number:x}" for number in (self.issued, *self.position))]
        return base64.urlsafe_b64encode(".".join(fields).encode()).decode().rstrip("=")


def write(epoch: str, position: Position) -> str:
    """Return a cursor that is given out now."""
    return Cursor(epoch, int(time.time()), position).write()


def read(text: str, epoch: str) -> Position | None:
    """Return the position of a cursor; None if it is unknown, expired or of another epoch."""
    cursor = _parse(text)
    if cursor is None or cursor.epoch != epoch:
        return None
    is_expired = cursor.issued < time.time() - current_app.config["CHANGES_RETENTION"]
    return None if is_expired else cursor.position


def _parse(text: str) -> Cursor | None:
    if len(text) > MAX_LENGTH or not text.isascii():
        return None
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        epoch, *fields = decoded.split(".")
        issued, *place = (int(field, 16) for field in fields)
        position = Position(*place)
    except (binascii.Error, ValueError, TypeError):
        return None
    if not all(0 <= number < MAX_NUMBER for number in (issued, *position)):
        return None
    return Cursor(epoch, issued, position)
