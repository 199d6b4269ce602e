"""The engine: connection pool, time-outs, and the permissions of the SQLite file."""

import math
import os
import select
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from logging import Logger
from typing import Any

from flask import has_request_context
from sqlalchemy import URL, Connection, Engine, event, make_url
from sqlalchemy.exc import InvalidatePoolError

# Parameters that detect a dead PostgreSQL host, see "libpq: Parameter Key Words". Times are in
# seconds, except `tcp_user_timeout` in milliseconds.
POSTGRES_DEFAULTS = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
ALWAYS = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}
# Connections in addition to one for each thread, for background work.
POOL_OVERFLOW = 2
# SQLite instructions between two checks of the time-out; listing 1000 rows takes about 10,000.
STEPS_BETWEEN_CHECKS = 10_000
# Milliseconds that SQLite waits for a lock.
BUSY_TIMEOUT = 10_000
OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO


def engine_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `create_engine`: the defaults, overridden by the settings.

    Autocommit and hidden parameters cannot be overridden: statements commit by themselves unless
    they are in a `transaction()`, and errors and logs never contain their values.
    """
    given = config["SQLALCHEMY_ENGINE_OPTIONS"]
    url = make_url(config["SQLALCHEMY_DATABASE_URI"])
    options = {**_pool_options(url, config), **given, **ALWAYS}
    if url.get_backend_name() == "postgresql":
        defaults = _postgres_arguments(url, config["STATEMENT_TIMEOUT"])
        options["connect_args"] = defaults | given.get("connect_args", {})
    return options


def _pool_options(url: URL, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pool's size: a connection for each thread; SQLite in memory has only one."""
    if "poolclass" in config["SQLALCHEMY_ENGINE_OPTIONS"] or _is_in_memory(url):
        return {}
    return {
        "pool_size": config["THREADS"],
        "max_overflow": POOL_OVERFLOW,
        "pool_timeout": config["STATEMENT_TIMEOUT"],
    }


def _is_in_memory(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def _is_file(url: URL) -> bool:
    """Tell whether the database is a SQLite file given by a path, not by a `file:` URI."""
    is_sqlite = url.get_backend_name() == "sqlite"
    return is_sqlite and not _is_in_memory(url) and not str(url.database).startswith("file:")


def _postgres_arguments(url: URL, statement_timeout: float) -> dict[str, Any]:
    """Return the arguments of psycopg that are not in the URL; the URL's `options` take precedence.

    The lock time-out matters where the statement time-out is disabled, as in migrations.
    """
    milliseconds = max(1, round(statement_timeout * 1000))
    ours = f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds}"
    theirs = url.query.get("options", "")
    options = " ".join([ours, *([theirs] if isinstance(theirs, str) else theirs)]).strip()
    defaults = {name: each for name, each in POSTGRES_DEFAULTS.items() if name not in url.query}
    return {**defaults, "options": options}


def prepare_engine(engine: Engine, statement_timeout: float, logger: Logger) -> None:
    """Register event listeners: SQLite's pragmas and time-outs, PostgreSQL's dead connections."""
    if _is_file(engine.url):
        _protect_file(str(engine.url.database), logger)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        _limit_statements(engine, statement_timeout)
    if engine.dialect.name == "postgresql":
        event.listen(engine, "checkout", _refuse_ended)


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    """Set the pragmas: WAL, foreign keys, and waiting for locks."""
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT}",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


@contextmanager
def brief_transaction(engine: Engine, seconds: float) -> Iterator[Connection]:
    """Yield a connection of its own in a transaction that waits no longer than this for a lock.

    On PostgreSQL each of its statements may take no longer either.
    """
    milliseconds = round(seconds * 1000)
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql(f"PRAGMA busy_timeout={milliseconds}")
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={BUSY_TIMEOUT}")
        else:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout={milliseconds}")
            yield connection
            connection.commit()


def _limit_statements(engine: Engine, seconds: float) -> None:
    """Interrupt statements of requests after this time on SQLite.

    Migrations and commands have no limit.
    """

    @event.listens_for(engine, "connect")
    def watch(connection: sqlite3.Connection, record: Any) -> None:
        info = record.info
        info["deadline"] = math.inf
        connection.set_progress_handler(
            lambda: time.monotonic() > info["deadline"], STEPS_BETWEEN_CHECKS
        )

    @event.listens_for(engine, "checkout")
    def start_with_checkout(_connection: Any, record: Any, _proxy: Any) -> None:
        record.info["deadline"] = deadline()

    @event.listens_for(engine, "before_cursor_execute")
    def start_with_statement(connection: Connection, *_: Any) -> None:
        connection.info["deadline"] = deadline()

    def deadline() -> float:
        return time.monotonic() + seconds if has_request_context() else math.inf


def _protect_file(path: str, logger: Logger) -> None:
    """Create the file with access for its owner only; SQLite copies the mode to its journal files.

    Warns about an existing file with wider permissions. If the file cannot be created, SQLite
    reports the error.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & OTHERS_MAY:
            logger.warning("%s is open to other users (mode %o): chmod 600 it", path, mode)


def _refuse_ended(connection: Any, _record: Any, _proxy: Any) -> None:
    """Invalidate the pool if the server has closed this connection, without a round trip.

    An idle connection is readable only if the server has closed it or is about to.
    """
    if connection.closed:
        raise InvalidatePoolError
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise InvalidatePoolError
