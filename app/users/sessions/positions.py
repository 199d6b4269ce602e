"""Sessions read their own writes, even if standbys answer reads.

The log position of the primary after a session's last write is stored with its token; clients
without a session send it back in a header.
"""

from flask import Flask, Response, current_app, request
from sqlalchemy import BigInteger, Update, bindparam, func, literal_column, update
from sqlalchemy.exc import SQLAlchemyError

from app.access.identity import current_identity
from app.database.standbys.group import WRITTEN
from app.database.standbys.reader import choose, has_written, is_written
from app.database.statements import PreparedStatement, readers
from app.errors import InvalidPosition
from app.rest.endpoint import SAFE_VERBS
from app.users.models import AccessToken

HEADER = "X-Database-Position"
# Digits of the highest 64-bit position.
MAX_DIGITS = 19
# The first status for a refused write, and the first for one that may have been done.
REFUSED, FAILED = 400, 500


def init_app(app: Flask) -> None:
    """Choose a standby before each request that reads, and store the position after each write."""
    app.before_request(_choose)
    app.after_request(_note_position)


def _storing() -> Update:
    """Return the statement that stores the position of a token.

    Its commit waits for no disk and no standby: after a crash that loses it, no standby is used
    that is behind the recovered primary.
    """
    position = literal_column(WRITTEN, BigInteger())
    at_once = func.set_config("synchronous_commit", "off", True) == "off"
    stored = update(AccessToken).where(AccessToken.digest == bindparam("token"), at_once)
    return stored.values(write_position=position)


STORE = PreparedStatement(_storing().returning(AccessToken.write_position))


def _choose() -> None:
    if request.method in SAFE_VERBS:
        token = current_identity().token
        position = (token.write_position if token is not None else None) or 0
        # A position beyond the primary's is forged, or was lost with another primary: waiting for
        # it would keep all reads on the primary.
        if (claimed := _position_in_header()) > position and is_written(claimed):
            position = claimed
        choose(position)


def _position_in_header() -> int:
    """Return the position sent by the client; raise InvalidPosition."""
    value = request.headers.get(HEADER, "0")
    if not (value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS):
        raise InvalidPosition()
    return int(value)


def _note_position(response: Response) -> Response:
    if request.method in SAFE_VERBS and not has_written():
        return response
    if REFUSED <= response.status_code < FAILED:
        return response
    try:
        response.headers[HEADER] = str(_store_position())
    except SQLAlchemyError as error:
        # If its primary is lost, the session loses the position, as after a crash.
        current_app.logger.warning("a position was not noted: %s", type(error).__name__)
    return response


def _store_position() -> int | None:
    """Store the position of the caller's session, if there is one; return the position."""
    if token := current_identity().token:
        row = STORE.first({"token": token.digest})
        if row is not None:
            position: int = row.write_position
            return position
    return readers.current.position()
