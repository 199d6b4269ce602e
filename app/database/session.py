"""The session, the base class of models, and transactions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, CursorResult, Engine, MetaData
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.dml import Delete, Update

from app.state import AppState

from . import pool
from .engine import engine_options, prepare_engine
from .execution import begin

# The open transaction, in the `info` of a session.
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


# Flask-SQLAlchemy's object, whose `session` sends statements. Objects stay loaded after a commit,
# which saves a query.
db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})

if TYPE_CHECKING:
    Model = Base
else:
    Model = db.Model


class Transaction(NamedTuple):
    """An open transaction: its connection, and the actions that follow the commit."""

    connection: Connection
    actions: list[Callable[[], None]]


@contextmanager
def transaction() -> Iterator[None]:
    """Run the statements of a block in one transaction; roll back if it raises.

    Outside of it, every statement commits by itself. A nested block joins the outer transaction.
    """
    if in_transaction():
        yield
        return
    session = db.session()
    try:
        begin(session.connection())
    except DBAPIError as error:
        if not may_repeat(error):
            raise
        begin(session.connection())
    opened = session.info[TRANSACTION] = Transaction(session.connection(), [])
    try:
        yield
        session.commit()
    except BaseException:
        session.rollback()
        raise
    finally:
        del session.info[TRANSACTION]
    for action in opened.actions:
        action()


def may_repeat(error: DBAPIError) -> bool:
    """Tell whether a statement that has changed nothing may be sent again, to another connection.

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
        db.session().info[TRANSACTION].actions.append(action)
    else:
        action()


def in_transaction() -> bool:
    """Tell whether this thread is in the block of a `transaction`."""
    return db.session.registry.has() and TRANSACTION in db.session().info


def session_connection() -> Connection | None:
    """Return the connection of the session, which may be in a transaction, if there is one."""
    if not db.session.registry.has():
        return None
    session = db.session()
    opened: Transaction | None = session.info.get(TRANSACTION)
    return opened.connection if opened else session.connection()


@contextmanager
def connection() -> Iterator[Connection]:
    """Return a connection for Core statements, which cost less than those of a session.

    It is the session's, if that has one: it may be in a transaction. Otherwise a pooled one.
    """
    if joined := session_connection():
        yield joined
    else:
        with db.engine.connect() as pooled:
            yield pooled


def affected_rows(statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE; return the number of affected rows."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


# The engine of an app: `db.engine` looks for it among those of all apps and binds.
engines = AppState[Engine]("database engine")


def init_app(app: Flask) -> None:
    """Connect the app to its database."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    db.init_app(app)
    with app.app_context():
        engine = db.engine
    # Read by RowId.
    engine.dialect.id_type = app.config["ID_TYPE"]  # type: ignore[attr-defined]
    prepare_engine(engine, app.config["STATEMENT_TIMEOUT"], app.logger)
    engines.set(app, engine)
    pool.init_app(app)
