"""How the database is reached: the pool, time-outs, and a SQLite file that only its owner reads."""

import math
import os
import select
import sqlite3
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from logging import Logger
from typing import Any

from flask import has_request_context
from sqlalchemy import URL, Connection, Engine, event, make_url
from sqlalchemy.exc import InvalidatePoolError

# What a dead PostgreSQL host is noticed by, see "libpq: Parameter Key Words": seconds to connect;
# seconds of silence before it is probed, between two probes, and how many may be lost; and
# milliseconds for which what was sent may stay without an acknowledgement.
POSTGRES_DEFAULTS = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
ALWAYS = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}
# Connections beside those of the threads, for work that no request waits for.
POOL_OVERFLOW = 2
# SQLite's instructions between two looks at the clock; a thousand rows of a list are about 10,000.
STEPS_BETWEEN_CHECKS = 10_000
OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO


def engine_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `create_engine`: our defaults, and what the settings say over them.

    Whatever the settings say, a statement commits by itself unless it is in a `transaction()`, and
    errors and logs never repeat its values.
    """
    given = config["SQLALCHEMY_ENGINE_OPTIONS"]
    url = make_url(config["SQLALCHEMY_DATABASE_URI"])
    options = {**_pool_options(url, config), **given, **ALWAYS}
    if url.get_backend_name() == "postgresql":
        defaults = _postgres_arguments(url, config["STATEMENT_TIMEOUT"])
        options["connect_args"] = defaults | given.get("connect_args", {})
    return options


def _pool_options(url: URL, config: Mapping[str, Any]) -> dict[str, Any]:
    """Give every thread a connection; a database in memory has one for all of them."""
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
    """Tell whether the database is a file that is named by its path alone."""
    is_sqlite = url.get_backend_name() == "sqlite"
    return is_sqlite and not _is_in_memory(url) and not str(url.database).startswith("file:")


def _postgres_arguments(url: URL, statement_timeout: float) -> dict[str, Any]:
    """Return psycopg's arguments, without those that the URL has; its `options` come last and win.

    The lock time-out is of use where the statement time-out is switched off, as in migrations.
    """
    milliseconds = max(1, round(statement_timeout * 1000))
    ours = f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds}"
    theirs = url.query.get("options", "")
    options = " ".join([ours, *([theirs] if isinstance(theirs, str) else theirs)]).strip()
    defaults = {name: each for name, each in POSTGRES_DEFAULTS.items() if name not in url.query}
    return {**defaults, "options": options}


def prepare_engine(engine: Engine, statement_timeout: float, logger: Logger) -> None:
    """Make connections safe to use: pragmas and time-outs of SQLite, and no dead ones."""
    if _is_file(engine.url):
        _protect_file(str(engine.url.database), logger)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        _limit_statements(engine, statement_timeout)
    if engine.dialect.name == "postgresql":
        event.listen(engine, "checkout", _refuse_ended)


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    """Readers beside one writer, enforced foreign keys, and waiting instead of failing."""
    for pragma in (
        "busy_timeout=10000",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _limit_statements(engine: Engine, seconds: float) -> None:
    """Interrupt each statement of a request that takes SQLite longer.

    Migrations and commands, which no client waits for, may take as long as they need.
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
    """Create the file for its owner alone; SQLite gives the files beside it the same mode.

    The mode of a file that exists is its owner's choice. One that cannot be made is for SQLite to
    report.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & OTHERS_MAY:
            logger.warning("%s is open to other users (mode %o): chmod 600 it", path, mode)


def _refuse_ended(connection: Any, _record: Any, _proxy: Any) -> None:
    """Ask the pool for new connections when this one has ended, without a round trip.

    An idle connection has nothing to read, unless the server has closed it or says why it will.
    """
    if connection.closed:
        raise InvalidatePoolError
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise InvalidatePoolError
