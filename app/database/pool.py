"""The pool of connections, of which a request takes one for all of its prepared statements."""

from flask import Flask, g, has_request_context
from sqlalchemy import Engine
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

# The attribute of `g` with the connection that a request keeps for its next statement.
KEPT = "kept_connection"


class RequestPool(QueuePool):
    """A pool that gives a request the connection which it keeps before any other one."""

    # The logger of SQLAlchemy's pools, as that of this package logs more.
    _sqla_logger_namespace = "sqlalchemy.pool.QueuePool"

    def connect(self) -> PoolProxiedConnection:
        """Return the connection that the request keeps, and keeps no longer, or another one."""
        return _taken() or super().connect()


def init_app(app: Flask) -> None:
    """Release the connection that a request keeps at its end."""
    app.teardown_request(lambda _: release())


def keep(connection: PoolProxiedConnection, engine: Engine) -> None:
    """Keep a connection for the request's next statement; close it outside of requests."""
    if isinstance(engine.pool, RequestPool) and has_request_context():
        kept = g._get_current_object().setdefault(KEPT, connection)
        if kept is connection:
            return
    connection.close()


def release() -> None:
    """Return the connection that the request keeps to the pool, as it will wait for long."""
    if connection := _taken():
        connection.close()


def _taken() -> PoolProxiedConnection | None:
    connection: PoolProxiedConnection | None = None
    if has_request_context():
        # The object behind the proxy, since every use of a proxy costs several calls.
        connection = g._get_current_object().pop(KEPT, None)
    return connection
