"""Who makes a change: the user and the request, noted in the transaction for its triggers.

PostgreSQL has settings of a transaction. On SQLite they are a row that is deleted before the
commit: there is one writer at a time, so that triggers see only that of their own transaction.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlalchemy import String, bindparam, delete, func, insert, inspect, select, true

from app.access.identity import current_identity
from app.database.session import before_commit, engines, in_transaction, transaction
from app.database.statements import PreparedStatement
from app.observability.origin import current_request_id
from app.rest.collection import Collection

from .models import ChangeActor

WRITES = ("insert", "update", "replace", "update_all", "delete")
ACTOR = inspect(ChangeActor).columns
SET = PreparedStatement(
    select(
        func.set_config("ostiary.actor", bindparam("actor", type_=String), true()).label("actor"),
        func.set_config("ostiary.request_id", bindparam("request", type_=String), true()).label(
            "request"
        ),
    )
)
INSERT = PreparedStatement(
    insert(ChangeActor)
    .values(number=1, actor=bindparam("actor"), request_id=bindparam("request"))
    .returning(ACTOR.number)
)
DELETE = PreparedStatement(delete(ChangeActor).returning(ACTOR.number))


def note_actors(collection: Collection) -> None:
    """Let the log have who writes rows of a collection."""
    writer = collection.writer
    for name in WRITES:
        setattr(writer, name, _noting(getattr(writer, name)))
    # Its own shortcuts.
    collection.insert, collection.update = writer.insert, writer.update
    collection.delete = writer.delete
    note_write = writer.before_write

    def before_write() -> None:
        note_write()
        # Also for writers of relations, which share this function.
        if in_transaction():
            _note()

    writer.before_write = before_write


def _noting(write: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(write)
    def noted(*arguments: Any, **options: Any) -> Any:
        if current_identity().user_id is None and current_request_id() is None:
            return write(*arguments, **options)
        with transaction():
            return write(*arguments, **options)

    return noted


def _note() -> None:
    """Note the caller, once in a transaction."""
    user_id, request_id = current_identity().user_id, current_request_id()
    if (user_id is None and request_id is None) or not before_commit(_forget):
        return
    actor = "" if user_id is None else str(user_id)
    note = INSERT if _is_sqlite() else SET
    note.first({"actor": actor, "request": request_id or ""})


def _forget() -> None:
    if _is_sqlite():
        DELETE.first({})


def _is_sqlite() -> bool:
    return engines.current.dialect.name == "sqlite"
