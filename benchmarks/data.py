"""Rows to measure with, loaded in bulk: row i is read with token i, and both are one user's."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from argon2 import PasswordHasher
from sqlalchemy import Connection, create_engine

# When rows begin: nothing is old enough to be purged. Row i is i tenths of a second younger.
START = datetime.now(UTC) - timedelta(days=2)
# Seconds: a token is of use for decades, and for as long as anybody measures.
TTL = 1_000_000_000
ORIGIN = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    ADDRESS := "203.0.113.195",
)
# Users who have this password; to compute more hashes would take long. The others have one that is
# as long, and nobody's.
WITH_PASSWORD = 1000
# The user who logs in and creates, with token 0 and no to-dos at first.
EMAIL, PASSWORD = "ada@example.com", "correct horse battery"
# An administrator, and the number of the administrator's token.
ADMIN_EMAIL, ADMIN = "admin@example.com", -1
# A heavy user, who has many to-dos and sessions, and the number of one of the tokens.
HEAVY_EMAIL, HEAVY = "grace@example.com", -2
# PASSWORD by bcrypt at LoopBack's cost.
LOOPBACK_HASH = "$2a$10$St4J1v/VRy6wK213Sxi/Hem4FKISqPWANtnRBBmM0OtMdM3DRy5pq"
Lines = Iterable[tuple[Any, ...]]


def token(number: int) -> str:
    """Return the value of a token."""
    return f"{number:064d}"


def fill(
    url: str, rows: int, owners: int, extra: int = 0, history: int = 0, heavy: int = 0
) -> None:
    """Load this many to-dos and as many access tokens, spread over the owners.

    The first owner has so many extra to-dos. `history` is the number of events in the outbox, of
    throttles and of audit records; `heavy`, of to-dos and of access tokens of the heavy user.
    """
    _fill(url, [*_tables(rows, owners, extra), *_heavy(owners + 3, heavy), *_history(history)])


def fill_loopback(url: str, rows: int) -> None:
    """Load the same into LoopBack's tables, with one owner."""
    _fill(url, _loopback_tables(rows))


def _fill(url: str, tables: Iterable[tuple[str, str, Lines]]) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for table, columns, lines in tables:
            _load(connection, table, columns, lines)
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            # What the server would do by itself soon, in the middle of a measurement.
            connection.exec_driver_sql("VACUUM ANALYZE")
            connection.exec_driver_sql("CHECKPOINT")
    engine.dispose()


def _tables(rows: int, owners: int, extra: int) -> Iterator[tuple[str, str, Lines]]:
    # Ids are left to the database, which numbers from 1 and goes on from there.
    emails = {i: f"user{i}@example.com" for i in range(1, owners + 1)}
    emails |= {0: EMAIL, ADMIN: ADMIN_EMAIL, HEAVY: HEAVY_EMAIL}
    hashed = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1).hash(PASSWORD)
    people = (
        ("", email, hashed if i <= WITH_PASSWORD else _unusable(hashed, i), False, _moment(i))
        for i, email in emails.items()
    )
    yield "users", "realm, email, password_hash, email_verified, created", people
    yield "roles", "id, name", [(1, "admin")]
    yield "role_mappings", "user_id, role_id", [(owners + 2, 1)]

    numbers = range(1, rows + 1)
    owner = {i: (i - 1) % owners + 1 for i in numbers}
    owner |= {0: owners + 1, ADMIN: owners + 2, HEAVY: owners + 3}
    yield _tokens(owner)

    todos = (
        (f"To-do number {i}", None, i % 2 == 0, _moment(i), owner.get(i, 1))
        for i in range(1, rows + extra + 1)
    )
    yield "todos", 'title, "desc", is_complete, created, owner_id', todos


def _tokens(owner: Mapping[int, int]) -> tuple[str, str, Lines]:
    """Return the access tokens with these numbers, each with its user's id."""
    tokens = (
        (_digest(token(i)), f"{i:016x}", user_id, TTL, _moment(i), _moment(i, TTL), *ORIGIN)
        for i, user_id in owner.items()
    )
    columns = "digest, handle, user_id, ttl, created, expires_at, user_agent, address"
    return "access_tokens", columns, tokens


def _heavy(user_id: int, rows: int) -> Iterator[tuple[str, str, Lines]]:
    """Yield the rows of the heavy user, but for the first token."""
    numbers = range(HEAVY - rows, HEAVY)
    yield _tokens(dict.fromkeys(numbers, user_id))
    todos = ((f"To-do {i}", None, i % 2 == 0, _moment(i), user_id) for i in numbers)
    yield "todos", 'title, "desc", is_complete, created, owner_id', todos


def _history(rows: int) -> Iterator[tuple[str, str, Lines]]:
    """Yield the rows that the use of a service leaves: all delivered, and none expired."""
    numbers = range(1, rows + 1)
    data = json.dumps({"scope": "reset-password", "handle": f"{1:016x}", "user_id": 1})
    events = (("resetPasswordRequest", data, _moment(i), 900, _moment(i)) for i in numbers)
    yield "outbox", "event, data, created, lifetime, deadline", events
    deliveries = ((i, "mail", "delivered", 1, _moment(i), False, _moment(i)) for i in numbers)
    columns = "event_id, subscriber, state, attempts, next_attempt, is_retried, finished"
    yield "deliveries", columns, deliveries
    throttles = (
        ("login_identity", _digest(str(i)), 1, _moment(i), _moment(i), _moment(i, TTL))
        for i in numbers
    )
    yield "throttles", "name, digest, count, started, blocked_until, expires_at", throttles
    details = json.dumps({"session": f"{1:016x}"})
    records = ((_moment(i), "login", i, i, ADDRESS, f"{i:032x}", details) for i in numbers)
    yield "audit", "time, action, actor_id, user_id, address, request_id, details", records


def _loopback_tables(rows: int) -> Iterator[tuple[str, str, Lines]]:
    people = [("user1@example.com", "-"), (EMAIL, LOOPBACK_HASH)]
    yield '"user"', "email, password", people
    tokens = ((token(i), TTL, _moment(i), 1 if i else 2) for i in range(rows + 1))
    yield "accesstoken", "id, ttl, created, userid", tokens
    todos = ((f"To-do number {i}", None, i % 2 == 0, _moment(i), 1) for i in range(1, rows + 1))
    yield "todo", 'title, "desc", iscomplete, created, ownerid', todos


def _moment(number: int, after: float = 0) -> str:
    """Return so many seconds after the creation of a row, as both databases read it."""
    return f"{START + timedelta(seconds=number / 10 + after):%Y-%m-%d %H:%M:%S.%f}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _unusable(hashed: str, number: int) -> str:
    """Return a hash that is another for each number, from its salt on."""
    head, salt, _ = hashed.rsplit("$", 2)
    return f"{head}${_digest(str(number))[: len(salt)]}${_digest(hashed + str(number))[:43]}"


def _load(connection: Connection, table: str, columns: str, lines: Lines) -> None:
    cursor = connection.connection.cursor()
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in columns.split(","))
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", lines)
        return
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for line in lines:
            copy.write_row(line)
