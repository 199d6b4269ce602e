"""Reading rows from the standby of READ_DATABASE_URL that a request selects, else the primary."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from flask import Flask, g
from sqlalchemy import (
    URL,
    BigInteger,
    Engine,
    create_engine,
    literal_column,
    make_url,
    select,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.database.connections import ReadCursor, Result, execute_alone
from app.database.engine import (
    FIXED_OPTIONS,
    QUERY_CACHE,
    connect_arguments,
    prepare_engine,
    read_url,
    require_primary,
)
from app.database.faults import error_code, error_reason, is_timeout
from app.database.session import TRANSACTION, engines
from app.database.statements import PRIMARY, PreparableStatement, PreparedStatement, Work, readers
from app.problems import ConfigurationError
from app.state import AppState

from .group import WRITTEN, Standby, Standbys

# The attributes of `g` with the request's standby, and whether the request has written.
CHOSEN, WROTE = "standby", "wrote_rows"

standbys = AppState[Standbys]("standbys")
# Queries the primary's log position.
POSITION = PreparedStatement(select(literal_column(WRITTEN, BigInteger()).label("position")))
#: Seconds to connect to a standby, libpq's minimum, instead of `connect_timeout`.
CONNECT_TIMEOUT = 2


class StandbyFailedError(Exception):
    """A standby has failed to answer, and the primary may be asked instead."""


class StandbyReader:
    """Runs statements that read rows on a standby."""

    def prepare(self, statement: PreparableStatement) -> PreparedStatement:
        """Return a prepared statement that reads rows."""
        return StandbyStatement(statement)

    def read(self, work: Work[Result]) -> Result:
        """Return the result of a function that reads by a connection."""
        if standby := chosen():
            try:
                with answering(standby), standby.engine.connect() as connection:
                    return work(connection)
            except StandbyFailedError:
                pass
        return PRIMARY.read(work)

    def note_write(self) -> None:
        """Make this request read from the primary, because rows are about to be written."""
        setattr(g, WROTE, True)

    def position(self) -> int:
        """Return the primary's log position."""
        position: int = POSITION.first({}).position
        return position


class StandbyStatement(PreparedStatement):
    """A prepared statement that may run on a standby."""

    def _execute(self, values: Mapping[str, object], read: ReadCursor[Result]) -> Result:
        if standby := chosen():
            try:
                with answering(standby):
                    compiled = self._compile_for(standby.engine.dialect)
                    return execute_alone(standby.engine, compiled, values, read)
            except StandbyFailedError:
                pass
        return super()._execute(values, read)


def choose(position: int) -> None:
    """Let a standby that has replayed the log up to a position answer this request's reads."""
    setattr(g, CHOSEN, standbys.current.choose(position))


def is_written(position: int) -> bool:
    """Return True if the primary has reached a log position; if in doubt, it is asked."""
    return position <= standbys.current.written or position <= POSITION.first({}).position


def chosen() -> Standby | None:
    """Return the selected standby; None for the primary.

    None once the request has written or has opened a transaction.
    """
    context = g._get_current_object()
    standby: Standby | None = context.get(CHOSEN)
    return None if standby is None or has_written() else standby


def has_written() -> bool:
    """Return True if the request may have written rows."""
    context = g._get_current_object()
    return WROTE in context or TRANSACTION in context


@contextmanager
def answering(standby: Standby) -> Iterator[None]:
    """Raise StandbyFailedError if the primary is to be asked instead, not for time-outs."""
    try:
        yield
    except PoolTimeout as error:
        setattr(g, CHOSEN, None)
        raise StandbyFailedError from error
    except DBAPIError as error:
        if is_timeout(error):
            raise
        # An error with a code, such as a conflict with replay, does not mean that the standby is
        # down.
        if error.connection_invalidated or error_code(error) is None:
            standby.leave_out(error_reason(error))
        setattr(g, CHOSEN, None)
        raise StandbyFailedError from error


def split_hosts(address: str) -> dict[str, URL]:
    """Return the URL of each host, by host and port as written; raise ValueError."""
    url = read_url(address)
    if url.get_backend_name() != "postgresql":
        raise ValueError("must be the address of PostgreSQL")
    # Each server is asked whether it is a standby in any case.
    query = {name: url.query[name] for name in url.query if name != "target_session_attrs"}
    hosts = _as_list(query.pop("host", ()))
    if not hosts:
        return {f"{url.host}:{url.port or 5432}": url.set(query=query)}
    ports = _as_list(query.pop("port", ()))
    if ports and len(ports) != len(hosts):
        raise ValueError("must have as many ports as hosts")
    url = url.set(host=None, port=None)
    pairs = zip(hosts, ports, strict=True) if ports else map(_split_port, hosts)
    return {
        f"{host}:{port}": url.set(query={**query, "host": host, "port": port})
        for host, port in pairs
    }


def _as_list(value: str | Sequence[str]) -> list[str]:
    values = [value] if isinstance(value, str) else value
    return [item for entry in values for item in entry.split(",")]


def _split_port(host: str) -> tuple[str, str]:
    name, separator, port = host.rpartition(":")
    return (name, port) if separator and port.isdigit() else (host, "5432")


def init_app(app: Flask) -> None:
    """Let standbys answer statements that read rows; raise ConfigurationError."""
    primary = engines.of(app)
    try:
        urls = split_hosts(app.config["READ_DATABASE_URL"])
        if primary.dialect.name != "postgresql":
            raise ValueError("needs a DATABASE_URL of PostgreSQL")
    except ValueError as error:
        raise ConfigurationError(f"READ_DATABASE_URL cannot be used: {error}") from None
    members = [
        Standby(name, _connect(app, url, app.config["THREADS"]), app.logger)
        for name, url in urls.items()
    ]
    own = _connect(app, make_url(app.config["SQLALCHEMY_DATABASE_URI"]), 1)
    require_primary(own)
    group = Standbys(members, own, app.config["READ_MAX_LAG"], app.logger)
    group.watch(primary)
    standbys.set(app, group)
    readers.set(app, StandbyReader())


def _connect(app: Flask, url: URL, connections: int) -> Engine:
    """Return an engine with `size` connections, plus one for the checking thread."""
    engine = create_engine(
        url,
        query_cache_size=QUERY_CACHE,
        pool_size=connections,
        max_overflow=1,
        pool_timeout=app.config["STATEMENT_TIMEOUT"],
        connect_args={
            **connect_arguments(url, app.config),
            "connect_timeout": url.query.get("connect_timeout", CONNECT_TIMEOUT),
        },
        **FIXED_OPTIONS,
    )
    prepare_engine(engine, app.config, app.logger)
    return engine
