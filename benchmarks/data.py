"""Rows to measure with, loaded in bulk: row i is read with token i, and both are one user's."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from argon2 import PasswordHasher
from sqlalchemy import Connection, create_engine

CREATED, EXPIRES = "2026-01-02 03:04:05.678000", "2099-01-01 00:00:00.000000"
# Seconds.
TTL = 1_000_000_000
# The user who logs in and creates, with token 0 and no to-dos at first.
EMAIL, PASSWORD = "ada@example.com", "correct horse battery"
Lines = Iterable[tuple[Any, ...]]


def token(number: int) -> str:
    """Return the value of a token."""
    return f"{number:064d}"


def fill(url: str, rows: int, owners: int) -> None:
    """Load this many to-dos and as many access tokens, spread over the owners."""
    _fill(url, _tables(rows, owners))


def fill_loopback(url: str, rows: int) -> None:
    """Load the same into LoopBack's tables, with one owner; nobody can log in there."""
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


def _tables(rows: int, owners: int) -> Iterator[tuple[str, str, Lines]]:
    # Ids are left to the database, which numbers from 1 and goes on from there.
    emails = [f"user{each}@example.com" for each in range(1, owners + 1)]
    hashed = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1).hash(PASSWORD)
    people = [("", email, hashed, False, CREATED) for email in [*emails, EMAIL]]
    yield "users", "realm, email, password_hash, email_verified, created", people

    numbers = range(1, rows + 1)
    owner = [owners + 1, *((number - 1) % owners + 1 for number in numbers)]
    tokens = (
        (sha256(token(i).encode()).hexdigest(), f"{i:016x}", owner[i], TTL, CREATED, EXPIRES)
        for i in range(rows + 1)
    )
    yield "access_tokens", "digest, handle, user_id, ttl, created, expires_at", tokens

    todos = ((f"To-do number {i}", None, i % 2 == 0, CREATED, owner[i]) for i in numbers)
    yield "todos", 'title, "desc", is_complete, created, owner_id', todos


def _loopback_tables(rows: int) -> Iterator[tuple[str, str, Lines]]:
    yield '"user"', "email, password", [("user1@example.com", "-"), (EMAIL, "-")]
    tokens = ((token(i), TTL, CREATED, 1 if i else 2) for i in range(rows + 1))
    yield "accesstoken", "id, ttl, created, userid", tokens
    todos = ((f"To-do number {i}", None, i % 2 == 0, CREATED, 1) for i in range(1, rows + 1))
    yield "todo", 'title, "desc", iscomplete, created, ownerid', todos


def _load(connection: Connection, table: str, columns: str, lines: Lines) -> None:
    cursor = connection.connection.cursor()
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in columns.split(","))
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", lines)
        return
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for line in lines:
            copy.write_row(line)
