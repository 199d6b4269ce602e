"""The engine: its options and connections, and the permissions of the SQLite file."""

import os
import select
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from logging import Logger
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, event, make_url
from sqlalchemy.exc import ArgumentError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from app.settings import Settings

from .connections import STATEMENTS, RequestPool, limit_statements, milliseconds
from .decimals import add_functions
from .dialects import limited_transaction
from .faults import is_read_only

# Parameters that detect a dead PostgreSQL host, see "libpq: Parameter Key Words". Times are in
# seconds, except `tcp_user_timeout` in milliseconds.
POSTGRES_DEFAULTS = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
# libpq's parameter that selects one of several servers; by default the first that answers.
TARGET = "target_session_attrs"
FIXED_OPTIONS = {"isolation_level": "AUTOCOMMIT", "hide_parameters": True}
#: Seconds after which PostgreSQL ends an idle transaction, such as that of a host that died.
# Longer than any calls of data sources that a hook makes within a transaction.
IDLE_IN_TRANSACTION = 60
#: Database connections of a process in addition to `THREADS`: for the outbox, jobs, and a
#: metrics scrape.
POOL_OVERFLOW = 3
#: Maximum compiled statements that a process keeps, about 30 kB each.
# Filters produce any number of statements. SQLAlchemy temporarily keeps half as many more.
QUERY_CACHE = 200
# KiB of a SQLite file cached by a connection, instead of 2,000: a process has several connections,
# and the system caches the file for all of them.
PAGE_CACHE = 500
# The key in the `info` of a PostgreSQL connection for the seconds to wait for an answer.
BOUND = "bound"
ALL_BUT_OWNER = stat.S_IRWXG | stat.S_IRWXO


def read_url(address: str) -> URL:
    """Return the URL of a database; raise ValueError without quoting the URL."""
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        # SQLAlchemy quotes what it takes for the port, which may be a password if the host is
        # missing.
        raise ValueError(
            "the address must look like postgresql+psycopg://user:password@host:5432/database or"
            " sqlite:///file"
        ) from None


def engine_options(config: Settings) -> dict[str, object]:
    """Return the arguments of `create_engine`: the defaults, overridden by the settings.

    Autocommit and hidden parameters cannot be overridden: statements commit by themselves outside
    of a `transaction()`, and errors and logs never contain values.
    """
    given = config["SQLALCHEMY_ENGINE_OPTIONS"]
    url = read_url(config["SQLALCHEMY_DATABASE_URI"])
    pool = _pool_options(url, config)
    options = {"query_cache_size": QUERY_CACHE, **pool, **given, **FIXED_OPTIONS}
    if url.get_backend_name() == "postgresql":
        options["connect_args"] = connect_arguments(url, config)
    return options


def _pool_options(url: URL, config: Settings) -> dict[str, object]:
    """Return the pool's size: a connection for each thread, or one for SQLite in memory."""
    if "poolclass" in config["SQLALCHEMY_ENGINE_OPTIONS"] or _is_in_memory(url):
        return {}
    return {
        "poolclass": RequestPool,
        "pool_size": config["THREADS"],
        "max_overflow": POOL_OVERFLOW,
        "pool_timeout": config["STATEMENT_TIMEOUT"],
    }


def _is_in_memory(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def _is_file(url: URL) -> bool:
    """Return True if the database is a SQLite file given by a path, not by a `file:` URI."""
    is_sqlite = url.get_backend_name() == "sqlite"
    return is_sqlite and not _is_in_memory(url) and not str(url.database).startswith("file:")


def connect_arguments(url: URL, config: Settings) -> dict[str, object]:
    """Return the arguments of psycopg that are not in the URL of a PostgreSQL server.

    PgBouncer accepts no `options`, and each transaction may run on a connection that lacks our
    prepared statements.
    """
    given = config["SQLALCHEMY_ENGINE_OPTIONS"].get("connect_args", {})
    defaults = {name: POSTGRES_DEFAULTS[name] for name in POSTGRES_DEFAULTS.keys() - url.query}
    if config["PGBOUNCER"]:
        return {**defaults, "prepare_threshold": None, **given}
    options = _postgres_options(url, config["STATEMENT_TIMEOUT"])
    return {**defaults, **_choice_of_host(url), "options": options, **given}


def _choice_of_host(url: URL) -> dict[str, object]:
    """Return which of several hosts libpq selects, unless the URL says so."""
    hosts = url.query.get("host", "")
    has_several = not isinstance(hosts, str) or "," in hosts
    is_given = TARGET in url.query
    return {TARGET: "primary"} if has_several and not is_given else {}


def _postgres_options(url: URL, statement_timeout: float) -> str:
    """Return the time-outs of a new connection; the URL's `options` take precedence.

    The lock time-out applies where the statement time-out is disabled, as in migrations.
    """
    timeout = milliseconds(statement_timeout)
    ours = {
        "statement_timeout": timeout,
        "lock_timeout": timeout,
        "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION * 1000,
    }
    theirs = url.query.get("options", "")
    given = [theirs] if isinstance(theirs, str) else theirs
    return " ".join([*(f"-c {name}={value}" for name, value in ours.items()), *given]).strip()


def prepare_engine(engine: Engine, config: Settings, logger: Logger) -> None:
    """Register event listeners: SQLite's pragmas and time-outs, PostgreSQL's dead connections."""
    statement_timeout = config["STATEMENT_TIMEOUT"]
    # Used by RowId.
    engine.dialect.id_type = config["ID_TYPE"]  # type: ignore[attr-defined]
    if _is_file(engine.url):
        _protect_file(str(engine.url.database), logger)
        _replace_read_only(engine.dialect, partial(_is_writable, str(engine.url.database)))
    if engine.dialect.name == "sqlite":
        limit_statements(engine, statement_timeout)
        event.listen(engine, "connect", _prepare_sqlite)
    if engine.dialect.name == "postgresql":
        event.listen(engine, "do_connect", _connect_postgresql)
        event.listen(engine, "connect", partial(_prepare_postgresql, statement_timeout))
        event.listen(engine, "checkout", _refuse_ended)
        _replace_read_only(engine.dialect, lambda: True)


def require_primary(engine: Engine) -> None:
    """Refuse new connections to standbys; the engine was set up by `prepare_engine`.

    For some seconds after a failover, a proxy may still take the old primary for the present one,
    and a standby may lack acknowledged writes. A server closes its connections before it becomes a
    standby, so established ones need no check.
    """
    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", lambda connection, _record: connection.refuse_standby())


def _prepare_sqlite(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    """Set the pragmas: WAL, foreign keys, and the size of the cache; add functions."""
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"cache_size=-{PAGE_CACHE}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    add_functions(connection)


def _connect_postgresql(
    _dialect: Dialect, _record: ConnectionPoolEntry, arguments: Any, options: Any
) -> object:
    return _libpq().BoundedConnection.connect(*arguments, **options)


def _prepare_postgresql(
    statement_timeout: float, connection: Any, record: ConnectionPoolEntry
) -> None:
    record.info[STATEMENTS] = _libpq().Statements(connection)
    connection.ask_server(statement_timeout)
    record.info[BOUND] = connection.bound


def _libpq() -> Any:
    """Import the modules that need the driver, which an installation for SQLite does not have."""
    return import_module("app.database.libpq")


def _replace_read_only(dialect: Dialect, is_writable: Callable[[], bool]) -> None:
    """Replace connections that are read-only, as they would remain so.

    A new connection may write if PostgreSQL has another primary, or SQLite's file is writable
    again.
    """
    is_lost = dialect.is_disconnect

    def is_unusable(error: Any, *used: Any) -> bool:
        return (is_read_only(error) and is_writable()) or is_lost(error, *used)

    dialect.is_disconnect = is_unusable  # type: ignore[assignment]


def _is_writable(path: str) -> bool:
    """Return True if the database file, its folder and the files beside it can be written.

    Connections are kept until then, because SQLite keeps files open that others have locked.
    """
    needed = path, os.path.dirname(path) or ".", f"{path}-wal", f"{path}-shm"
    return all(os.access(file, os.W_OK) for file in needed if os.path.exists(file))


@contextmanager
def brief_transaction(engine: Engine, seconds: float) -> Iterator[Connection]:
    """Yield a separate connection in a transaction, and limit its waiting for locks.

    PostgreSQL limits each of its statements to the same time.
    """
    with engine.connect() as connection, limited_transaction(connection, round(seconds * 1000)):
        yield connection
        connection.commit()


def _protect_file(path: str, logger: Logger) -> None:
    """Create the file with access for its owner only; SQLite gives its journal files the same mode.

    Logs a warning about an existing file with wider permissions. If the file cannot be created,
    SQLite reports the error later.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & ALL_BUT_OWNER:
            logger.warning("%s is open to other users (mode %o): chmod 600 it", path, mode)


def _refuse_ended(
    connection: Any, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection
) -> None:
    """Invalidate the pool if the server has closed this connection; needs no round trip.

    An idle connection is readable only if the server has closed it or is about to.
    """
    # A transaction may have removed it.
    connection.bound = record.info[BOUND]
    if connection.closed:
        raise InvalidatePoolError
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise InvalidatePoolError
