"""Reading from the standbys of READ_DATABASE_URL."""

from collections.abc import Sequence

from flask import Flask
from sqlalchemy import URL, Engine, create_engine, make_url

from app.config import ConfigurationError
from app.database.engine import (
    FIXED_OPTIONS,
    QUERY_CACHE,
    connect_arguments,
    prepare_engine,
    read_url,
    require_primary,
)
from app.database.reading import readers
from app.database.session import engines

from .group import Standbys
from .reader import StandbyReader, standbys
from .standby import Standby


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


#: Seconds to connect to a standby, libpq's minimum, instead of `connect_timeout`.
CONNECT_TIMEOUT = 2


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
