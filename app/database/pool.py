"""The connection pool; a request uses one connection for all of its prepared statements."""

from flask import Flask, g, has_request_context
from sqlalchemy import Engine
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

# The attribute of `g` with the connection kept for the request's next statement.
KEPT = "kept_connection"


class RequestPool(QueuePool):
    """A pool that prefers the connection which the request has kept."""

    # The logger of SQLAlchemy's pools; this package's own logger is more verbose.
    _sqla_logger_namespace = "sqlalchemy.pool.QueuePool"

    def connect(self) -> PoolProxiedConnection:
        """Return the connection that the request has kept, or a new one, which is not kept."""
        return _taken() or super().connect()


def init_app(app: Flask) -> None:
    """Release the connection that a request has kept."""
    app.teardown_request(lambda _: release())


def keep(connection: PoolProxiedConnection, engine: Engine) -> None:
    """Keep a connection for the request's next statement; close it outside of requests."""
    if isinstance(engine.pool, RequestPool) and has_request_context():
        kept = g._get_current_object().setdefault(KEPT, connection)
        if kept is connection:
            return
    connection.close()


def release() -> None:
    """Return the kept connection to the pool, because the request will wait for long."""
    if connection := _taken():
        connection.close()


def _taken() -> PoolProxiedConnection | None:
    connection: PoolProxiedConnection | None = None
    if has_request_context():
        # The object behind the proxy, since every use of a proxy costs several calls.
        connection = g._get_current_object().pop(KEPT, None)
    return connection
