"""Read and change rows in the tables directly."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from itertools import groupby
from threading import get_ident
from unittest.mock import patch

import psycopg
from flask import Flask
from sqlalchemy import delete, event, func, insert, select, text, update

from app import outbox
from app.access.roles import Role, RoleMapping
from app.database.libpq import Records, Statements
from app.database.metadata import all_metadata
from app.database.session import Model, db
from app.times import now
from app.users.models import AccessToken, User, new_token, token_digest


def expire(app: Flask, token: str, ago: float = 1) -> None:
    """Make a token one that expired `ago` seconds ago; negative: that has so long to live."""
    row = update(AccessToken).where(AccessToken.digest == sha256(token.encode()).hexdigest())
    with app.app_context():
        db.session.execute(row.values(expires_at=now() - timedelta(seconds=ago)))
        db.session.commit()


def age(app: Flask, token: str, seconds: float) -> None:
    """Move a token into the past: as if it were issued, and last used, so many seconds earlier."""
    with app.app_context():
        row = db.session.get(AccessToken, sha256(token.encode()).hexdigest())
        for name in ("created", "expires_at", "last_used"):
            if (time := getattr(row, name)) is not None:
                setattr(row, name, time - timedelta(seconds=seconds))
        db.session.commit()


def make_old(app: Flask, token: str, seconds: float = 301) -> None:
    """Make a token's login one of so many seconds ago."""
    row = update(AccessToken).where(AccessToken.digest == sha256(token.encode()).hexdigest())
    with app.app_context():
        created = now() - timedelta(seconds=seconds)
        db.session.execute(row.values(created=created, authenticated_at=None))
        db.session.commit()


def put_into_past(app: Flask, table: str, *columns: str) -> None:
    """Make these times of all rows of a table of an app those of an hour ago."""
    rows = all_metadata(app).tables[table]
    with app.app_context():
        an_hour_ago = dict.fromkeys(columns, now() - timedelta(hours=1))
        db.session.execute(update(rows).values(an_hour_ago))
        db.session.commit()


# Those that tests give are below.
NEXT_IDS = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, greatest(10000, last_value))
FROM pg_sequences
"""


def populate(app: Flask, rows: Callable[[], Iterable[Model]]) -> None:
    """Replace all rows by these, created inside the app and stored in their order."""
    with app.app_context():
        # Everything else is deleted with these.
        for model in (User, Role):
            db.session.execute(delete(model))
        # Without relationships the session does not know which rows need which others.
        for _, alike in groupby(rows(), key=type):
            db.session.add_all(alike)
            db.session.flush()
        if db.engine.name == "postgresql":
            # New ids come after those that were given, as with SQLite.
            db.session.execute(text(NEXT_IDS))
        db.session.commit()


def store_login(app: Flask, email: str, password_hash: str, verified: bool = True) -> str:
    """Store a user and a token of theirs; return the token."""
    value, ttl, created = new_token(), app.config["TOKEN_TTL"], now()
    users, tokens = User.__table__, AccessToken.__table__
    with app.app_context(), db.engine.begin() as connection:
        columns = {"email": email, "password_hash": password_hash, "email_verified": verified}
        user = connection.execute(insert(users).values(columns))
        row = {"digest": token_digest(value), "ttl": ttl, "created": created}
        row |= {"user_id": user.inserted_primary_key[0], "address": "127.0.0.1"}
        row |= {"expires_at": created + timedelta(seconds=ttl), "user_agent": "Werkzeug/tests"}
        connection.execute(insert(tokens).values(row))
    return value


def make_admin(app: Flask, user_id: int = 1) -> None:
    """Give a user the role of admins, which nobody has yet."""
    with app.app_context(), db.engine.begin() as connection:
        role = connection.execute(insert(Role.__table__).values(name="admin"))
        ids = {"user_id": user_id, "role_id": role.inserted_primary_key[0]}
        connection.execute(insert(RoleMapping.__table__).values(ids))


def count(app: Flask, model: type[Model]) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(model))


def count_live_tokens(app: Flask) -> int:
    """Count the tokens that have not expired, as decoys have."""
    with app.app_context():
        live = AccessToken.expires_at > now()
        return db.session.scalar(select(func.count()).select_from(AccessToken).where(live))


def stored_hash(app: Flask, email: str = "ada@example.com") -> str:
    with app.app_context():
        return db.session.scalar(select(User.password_hash).where(User.email == email))


def store_hash(app: Flask, password_hash: str, email: str = "ada@example.com") -> None:
    with app.app_context():
        db.session.execute(
            update(User).where(User.email == email).values(password_hash=password_hash)
        )
        db.session.commit()


@contextmanager
def _noted(note: Callable[[str], None]) -> Iterator[None]:
    """Note the statements that libpq executes."""
    execute = Statements.execute

    def execute_noted(statements: Statements, sql: bytes, values: Sequence[object]) -> Records:
        note(sql.decode())
        return execute(statements, sql, values)

    with patch.object(Statements, "execute", execute_noted):
        yield


@contextmanager
def statements(app: Flask) -> Iterator[list[str]]:
    """Note every SQL statement that this thread's drivers send, BEGIN and COMMIT included."""
    sent: list[str] = []
    thread: int | None = get_ident()

    def note(statement: str) -> None:
        # The outbox is worked by another thread.
        if get_ident() == thread:
            sent.append(statement)

    def note_once(statement: str) -> None:
        # SQLite traces a statement again for each action of a foreign key.
        if not sent or sent[-1] != statement:
            note(statement)

    class RecordingCursor(psycopg.Cursor):
        def execute(self, query, *details, **options):
            note(str(query))
            return super().execute(query, *details, **options)

    def watch(connection, _record, _proxy) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.set_trace_callback(note_once)
        else:
            connection.cursor_factory = RecordingCursor

    with app.app_context():
        engine = db.engine
    event.listen(engine, "checkout", watch)
    with _noted(note):
        yield sent
    event.remove(engine, "checkout", watch)
    # To stop the outbox may take statements of this thread, by connections that are watched.
    thread = None
    # Its connection would not be closed by the pool's end.
    outbox.stop(app)
    engine.dispose()
