"""The session, the base class of models, and transactions."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from flask import Flask, g
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy import Connection, CursorResult, Engine, MetaData
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, SessionTransaction
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.dml import Delete, Update

from app.state import AppState

from . import connections
from .connections import control, keep_connection, take_connection
from .dialects import BEGIN
from .engine import engine_options, prepare_engine, require_primary

# The attributes of `g` with the open transaction, None after it has ended, and whether it is held.
TRANSACTION, HELD = "transaction", "holds_transaction"


class Base(DeclarativeBase):
    """The base class of models, with uniform constraint names on every database, for migrations."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class JoiningSession(Session):
    """A session that joins the open transaction with its first statement."""

    def get_bind(self, *args: Any, **options: Any) -> Engine | Connection:
        """Return the connection of the open transaction, or the engine."""
        bind, opened = super().get_bind(*args, **options), _opened()
        return opened.join() if opened and bind is opened.engine else bind

    def begin(self, nested: bool = False) -> SessionTransaction:
        """Begin as usual; raise RuntimeError within an open transaction, except for a savepoint."""
        if not nested:
            _refuse_in_transaction("begin")
        return super().begin(nested)

    def commit(self) -> None:
        """Commit as usual; raise RuntimeError within an open transaction."""
        _refuse_in_transaction("commit")
        super().commit()

    def rollback(self) -> None:
        """Roll back as usual; raise RuntimeError within an open transaction."""
        _refuse_in_transaction("rollback")
        super().rollback()


# Flask-SQLAlchemy's object, whose `session` sends statements. Objects do not expire at commit,
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
    """An open transaction on a pooled connection."""

    engine: Engine
    pooled: PoolProxiedConnection
    # SQLAlchemy's connection object, once the session has joined.
    connection: Connection | None
    # Actions to run after the commit.
    actions: list[Callable[[], None]] = field(default_factory=list)
    # Actions to run before it, in the transaction.
    last_actions: list[Callable[[], None]] = field(default_factory=list)
    # The number of `transaction` blocks in which it is. While it is held there may be none, and
    # whether one of those that followed each other has raised.
    depth: int = 0
    has_failed: bool = False

    def join(self) -> Connection:
        """Return the connection for the session."""
        self.connection = self.connection or Connection(self.engine, self.pooled)
        return self.connection


@contextmanager
def transaction() -> Iterator[None]:
    """Run the statements of a block in one transaction; roll back if it raises.

    Outside of it, each statement commits by itself. A nested block joins the outer transaction.
    """
    # The object behind the proxy, since every use of a proxy costs several calls.
    context = g._get_current_object()
    if opened := context.get(TRANSACTION):
        opened.depth += 1
        try:
            yield
        except BaseException:
            opened.has_failed |= opened.depth == 1
            raise
        finally:
            opened.depth -= 1
        return
    opened = _begin_anew()
    opened.depth = 1
    setattr(context, TRANSACTION, opened)
    is_held = context.get(HELD, False)
    try:
        yield
        opened.depth = 0
        if not is_held:
            _commit(opened)
    except BaseException:
        is_held = False
        _roll_back(opened)
        raise
    finally:
        if not is_held:
            setattr(context, TRANSACTION, None)
    if not is_held:
        _run_actions(opened)


@contextmanager
def held_transaction() -> Iterator[None]:
    """Let the first `transaction` of a block last until the end of the block.

    What the block does before that, or before `begin_held`, is outside of a transaction: work that
    takes long, and what must not be rolled back. Raises RuntimeError if a further transaction of
    the block has failed, and the block has not: what was stored before would be lost unnoticed.
    """
    context = g._get_current_object()
    setattr(context, HELD, True)
    opened = None
    try:
        yield
        if opened := context.get(TRANSACTION):
            if opened.has_failed:
                raise RuntimeError("a part of the transaction has failed: nothing is stored")
            _commit(opened)
    except BaseException:
        if unfinished := context.get(TRANSACTION):
            _roll_back(unfinished)
        raise
    finally:
        setattr(context, TRANSACTION, None)
        setattr(context, HELD, False)
    if opened:
        _run_actions(opened)


def begin_held() -> None:
    """Begin the transaction within a block of `held_transaction`, unless it is open already."""
    context = g._get_current_object()
    if context.get(HELD) and not context.get(TRANSACTION):
        setattr(context, TRANSACTION, _begin_anew())


def _begin_anew() -> Transaction:
    """Begin a transaction; once more if the connection was lost."""
    try:
        return _begin(engines.current)
    except DBAPIError as error:
        if not may_repeat(error):
            raise
    return _begin(engines.current)


def _run_actions(committed: Transaction) -> None:
    """Run the actions in order, also those after one that raises; then raise its error."""
    if not committed.actions:
        return
    with ExitStack() as stack:
        for action in reversed(committed.actions):
            stack.callback(action)


@contextmanager
def savepoint() -> Iterator[None]:
    """Run a block in a transaction; undo only the block if it raises within an open one."""
    opened = _opened()
    if opened is None:
        with transaction():
            yield
        return
    number = len(opened.actions)
    try:
        with db.session.begin_nested():
            # Joins now, which sends the statement.
            db.session.connection()
            yield
    except BaseException:
        del opened.actions[number:]
        raise


def _begin(engine: Engine) -> Transaction:
    """Begin on the session's connection if it exists; prepared statements need none."""
    connection = db.session.connection() if db.session.registry.has() else None
    pooled = connection.connection if connection else take_connection(engine)
    opened = Transaction(engine, pooled, connection)
    try:
        control(opened.pooled, engine, BEGIN[engine.dialect.name])
    except BaseException:
        if connection is None:
            opened.pooled.close()
        raise
    return opened


def _commit(opened: Transaction) -> None:
    for action in opened.last_actions:
        action()
    if not db.session.registry.has():
        control(opened.pooled, opened.engine, "COMMIT")
        keep_connection(opened.pooled, opened.engine)
        return
    session = db.session()
    # Joins now, unless it has sent a statement.
    connection = session.connection()
    Session.commit(session)
    connection.close()


def _roll_back(opened: Transaction) -> None:
    if db.session.registry.has():
        Session.rollback(db.session())
    # The pool rolls back connections that are returned.
    (opened.connection or opened.pooled).close()


def may_repeat(error: DBAPIError) -> bool:
    """Return True if a statement that changed nothing may be sent again, on another connection.

    Only if nothing but its connection was lost: there is no transaction, and the session has no
    unsent changes.
    """
    if not error.connection_invalidated or in_transaction():
        return False
    if db.session.registry.has():
        session = db.session()
        if session.new or session.dirty or session.deleted:
            return False
        # Releases the connection.
        session.rollback()
    return True


def after_commit(action: Callable[[], None]) -> None:
    """Run an action after the open transaction has committed; never if it rolls back.

    Outside of a transaction it runs at once.
    """
    if in_transaction():
        getattr(g, TRANSACTION).actions.append(action)
    else:
        action()


def before_commit(action: Callable[[], None]) -> bool:
    """Run an action at the end of the open transaction; return False if it is to be run already."""
    actions: list[Callable[[], None]] = getattr(g, TRANSACTION).last_actions
    if action in actions:
        return False
    actions.append(action)
    return True


def in_transaction() -> bool:
    """Return True within a `transaction` block of this app context."""
    return _opened() is not None


def _refuse_in_transaction(method: str) -> None:
    """Raise RuntimeError within a transaction: a part of it would be stored, or lost unnoticed."""
    if in_transaction():
        raise RuntimeError(
            f"db.session.{method}() was called within a transaction, which ends with its block:"
            " raise an error to roll it back, and use db.session.begin_nested() for a part of it"
        )


def _opened() -> Transaction | None:
    # The object behind the proxy, since every use of a proxy costs several calls.
    opened: Transaction | None = g._get_current_object().get(TRANSACTION)
    return opened


def detach_objects() -> None:
    """Send what is unsent of the session's objects, and detach them: they are then read anew."""
    if db.session.registry.has():
        session = db.session()
        session.flush()
        session.expunge_all()


def open_connection() -> PoolProxiedConnection | None:
    """Return the connection of the open transaction, or of the session if it has one."""
    if opened := _opened():
        return opened.pooled
    return db.session.connection().connection if db.session.registry.has() else None


@contextmanager
def connection() -> Iterator[Connection]:
    """Return a connection for Core statements, which cost less than those of a session.

    It is the session's within a transaction or if the session has one, else a pooled one.
    """
    if in_transaction() or db.session.registry.has():
        yield db.session.connection()
    else:
        with db.engine.connect() as pooled:
            yield pooled


def affected_rows(statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE; return the number of affected rows."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


# The engine of the app: `db.engine` would search those of all apps and binds.
engines = AppState[Engine]("database engine")


def init_app(app: Flask) -> None:
    """Connect the app to its database; raise ValueError for invalid settings."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    try:
        db.init_app(app)
    except (AttributeError, TypeError) as error:
        # Options that no engine, pool or driver of this database has, or with a wrong type.
        problem = str(error).partition(", using ")[0]
        raise ValueError(f"SQLALCHEMY_ENGINE_OPTIONS: {problem}") from None
    with app.app_context():
        engine = db.engine
    prepare_engine(engine, app.config, app.logger)
    require_primary(engine)
    engines.set(app, engine)
    connections.init_app(app)
