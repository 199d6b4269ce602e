"""The database: session, base class, column types, time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import BigInteger, Connection, CursorResult, DateTime, Dialect, Integer, MetaData
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.dml import Delete, Update
from sqlalchemy.types import TypeDecorator

from app.engine import engine_options, prepare_engine


class Base(DeclarativeBase):
    """Names constraints alike on every database, so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


# Rows stay readable after a commit: what was written is known, and asking again costs a query.
db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})
migrate = Migrate(directory=str(Path(__file__).with_name("migrations")), render_as_batch=True)

if TYPE_CHECKING:
    Model = Base
else:
    Model = db.Model

# Wide enough for PostgreSQL for ever; SQLite numbers rows by itself only in an INTEGER.
RowId = BigInteger().with_variant(Integer, "sqlite")


def now() -> datetime:
    """Return the time in UTC, to the millisecond, which is what clients see."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


@contextmanager
def transaction() -> Iterator[None]:
    """Run the statements of a block as one transaction: all of them take effect, or none.

    The only way to open one: every other statement commits by itself. A block inside another one
    is part of the outer transaction.
    """
    session = db.session()
    if session.info.get("in_transaction"):
        yield
        return
    opened = session.connection()
    # SQLite lets nobody who has read go on to write while another one writes: lock at the start.
    is_sqlite = opened.dialect.name == "sqlite"
    opened.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite else "BEGIN")
    session.info["in_transaction"] = True
    try:
        yield
        session.commit()
    except BaseException:
        session.rollback()
        raise
    finally:
        session.info["in_transaction"] = False


@contextmanager
def connection() -> Iterator[Connection]:
    """Return a connection for Core statements, which cost less than those of a session.

    It is the session's, if that has one: it may be in a transaction. Otherwise a pooled one.
    """
    if db.session.registry.has():
        yield db.session.connection()
    else:
        with db.engine.connect() as pooled:
            yield pooled


def affected_rows(statement: Update | Delete) -> int:
    """Execute an UPDATE or DELETE and return how many rows it touched."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


class UtcDateTime(TypeDecorator[datetime]):
    """An aware point in time: stored in UTC, and aware again when read, on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True
    python_type = datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn an aware datetime into UTC; a naive one is a mistake and raises ValueError."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime does not say which time it is")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back UTC; SQLite forgets the zone, so a naive value is UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def init_app(app: Flask) -> None:
    """Connect the app to its database and its migrations."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    db.init_app(app)
    migrate.init_app(app, db)
    with app.app_context():
        prepare_engine(db.engine, app.config["STATEMENT_TIMEOUT"], app.logger)
