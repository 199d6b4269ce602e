"""The session, the base class of models, and transactions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from flask import Flask, g
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy import Connection, CursorResult, Engine, MetaData
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.dml import Delete, Update

from app.state import AppState

from . import pool
from .dialects import BEGIN
from .engine import engine_options, prepare_engine, require_primary
from .execution import control, take

# The attribute of `g` with the open transaction; None after the last one.
TRANSACTION = "transaction"


class Base(DeclarativeBase):
    """The base class of models; names constraints alike on every database, for migrations."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class JoiningSession(Session):
    """A session that joins the open transaction, as soon as it sends a statement."""

    def get_bind(self, *args: Any, **options: Any) -> Engine | Connection:
        """Return the connection of the open transaction, or the engine."""
        bind, opened = super().get_bind(*args, **options), _opened()
        return opened.join() if opened and bind is opened.engine else bind


# Flask-SQLAlchemy's object, whose `session` sends statements. Objects stay loaded after a commit,
# which saves a query.
db = SQLAlchemy(
    model_class=Base, session_options={"expire_on_commit": False, "class_": JoiningSession}
)

if TYPE_CHECKING:
    Model = Base
else:
    Model = db.Model


@dataclass
class Transaction:
    """An open transaction on a connection of the pool."""

    engine: Engine
    pooled: PoolProxiedConnection
    # SQLAlchemy's object for the connection, once the session has joined.
    connection: Connection | None
    # What follows the commit.
    actions: list[Callable[[], None]] = field(default_factory=list)

    def join(self) -> Connection:
        """Return the connection for the session."""
        self.connection = self.connection or Connection(self.engine, self.pooled)
        return self.connection


@contextmanager
def transaction() -> Iterator[None]:
    """Run the statements of a block in one transaction; roll back if it raises.

    Outside of it, every statement commits by itself. A nested block joins the outer transaction.
    """
    if in_transaction():
        yield
        return
    try:
        opened = _begin(engines.current)
    except DBAPIError as error:
        if not may_repeat(error):
            raise
        opened = _begin(engines.current)
    setattr(g, TRANSACTION, opened)
    try:
        yield
        _commit(opened)
    except BaseException:
        _roll_back(opened)
        raise
    finally:
        setattr(g, TRANSACTION, None)
    for action in opened.actions:
        action()


def _begin(engine: Engine) -> Transaction:
    """Begin on the connection of the session, if there is one; prepared statements need none."""
    connection = db.session.connection() if db.session.registry.has() else None
    opened = Transaction(engine, connection.connection if connection else take(engine), connection)
    try:
        control(opened.pooled, engine, BEGIN[engine.dialect.name])
    except BaseException:
        if connection is None:
            opened.pooled.close()
        raise
    return opened


def _commit(opened: Transaction) -> None:
    if not db.session.registry.has():
        control(opened.pooled, opened.engine, "COMMIT")
        pool.keep(opened.pooled, opened.engine)
        return
    session = db.session()
    # Joins, if it has not sent anything yet.
    connection = session.connection()
    session.commit()
    connection.close()


def _roll_back(opened: Transaction) -> None:
    if db.session.registry.has():
        session = db.session()
        session.rollback()
    # The pool rolls back what it gets.
    (opened.connection or opened.pooled).close()


def may_repeat(error: DBAPIError) -> bool:
    """Return True if a statement that has changed nothing may be sent again, to another connection.

    Only if its own was lost, and nothing else with it: neither a transaction nor changes that the
    session has not sent.
    """
    if not error.connection_invalidated or in_transaction():
        return False
    if db.session.registry.has():
        session = db.session()
        if session.new or session.dirty or session.deleted:
            return False
        # Gives up the connection.
        session.rollback()
    return True


def after_commit(action: Callable[[], None]) -> None:
    """Run an action once the open transaction has committed, and not if it rolls back.

    Outside of a transaction it runs at once.
    """
    if in_transaction():
        getattr(g, TRANSACTION).actions.append(action)
    else:
        action()


def in_transaction() -> bool:
    """Return True if this app context is in the block of a `transaction`."""
    return _opened() is not None


def _opened() -> Transaction | None:
    # The object behind the proxy, since every use of a proxy costs several calls.
    opened: Transaction | None = g._get_current_object().get(TRANSACTION)
    return opened


def open_connection() -> PoolProxiedConnection | None:
    """Return the connection of the open transaction, or of the session, if there is one."""
    if opened := _opened():
        return opened.pooled
    return db.session.connection().connection if db.session.registry.has() else None


@contextmanager
def connection() -> Iterator[Connection]:
    """Return a connection for Core statements, which cost less than those of a session.

    It is the session's in a transaction, and if it has one. Otherwise a pooled one.
    """
    if in_transaction() or db.session.registry.has():
        yield db.session.connection()
    else:
        with db.engine.connect() as pooled:
            yield pooled


def affected_rows(statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE; return the number of affected rows."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


# The engine of an app: `db.engine` looks for it among those of all apps and binds.
engines = AppState[Engine]("database engine")


def init_app(app: Flask) -> None:
    """Connect the app to its database; raise ValueError for settings that cannot be used."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    try:
        db.init_app(app)
    except (AttributeError, TypeError) as error:
        # Options that no engine, pool or driver of this database has, or of another type.
        problem = str(error).partition(", using ")[0]
        raise ValueError(f"SQLALCHEMY_ENGINE_OPTIONS: {problem}") from None
    with app.app_context():
        engine = db.engine
    prepare_engine(engine, app.config, app.logger)
    require_primary(engine)
    engines.set(app, engine)
    pool.init_app(app)
