"""The database: session, model base class, transactions and column types."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import (
    BigInteger,
    Connection,
    CursorResult,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    inspect,
)
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.sql.dml import Delete, Update
from sqlalchemy.types import TypeDecorator

from app.engine import engine_options, prepare_engine


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


# Objects stay loaded after a commit, which saves a query.
db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})

if TYPE_CHECKING:
    Model = Base
else:
    Model = db.Model

# The type of row ids: 64 bits; SQLite generates ids only for INTEGER columns.
RowId = BigInteger().with_variant(Integer, "sqlite")


def app_metadata(app: Flask) -> MetaData:
    """Return the tables that only this app has, or that it has with other columns.

    They follow from its settings and its models in JSON; all others are in `db.metadata`.
    """
    metadata: MetaData = app.extensions["app_metadata"]
    return metadata


def all_metadata(app: Flask) -> MetaData:
    """Return all tables of an app."""
    own = app_metadata(app).tables
    if not own:
        return db.metadata
    merged = MetaData(naming_convention=Base.metadata.naming_convention)
    for table in {**db.metadata.tables, **own}.values():
        table.to_metadata(merged)
    return merged


def missing_from_database(app: Flask) -> list[str]:
    """Return the tables, and the columns as `table.column`, of this app alone that are not made."""
    own = app_metadata(app).tables
    with app.app_context(), db.engine.connect() as connection:
        found = inspect(connection).get_multi_columns(filter_names=list(own))
    columns = {name: {each["name"] for each in there} for (_, name), there in found.items()}
    missing = [name for name in own if name not in columns]
    return missing + [
        f"{name}.{column.name}"
        for name, there in columns.items()
        for column in own[name].columns
        if column.name not in there
    ]


def now() -> datetime:
    """Return the current time in UTC, truncated to milliseconds as in JSON."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def iso_time(time: datetime) -> str:
    """Return a time in UTC as ISO 8601 with milliseconds: `2026-01-02T03:04:05.678Z`."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def transaction() -> Iterator[None]:
    """Run the statements of a block in one transaction; roll back if it raises.

    Outside of it, every statement commits by itself. A nested block joins the outer transaction.
    """
    session = db.session()
    if session.info.get("in_transaction"):
        yield
        return
    opened = session.connection()
    # On SQLite a transaction that starts with a read fails to write if another one wrote since.
    is_sqlite = opened.dialect.name == "sqlite"
    opened.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite else "BEGIN")
    session.info["in_transaction"] = True
    actions: list[Callable[[], None]] = []
    session.info["after_commit"] = actions
    try:
        yield
        session.commit()
    except BaseException:
        session.rollback()
        raise
    finally:
        session.info["in_transaction"] = False
    for action in actions:
        action()


def after_commit(action: Callable[[], None]) -> None:
    """Run an action once the open transaction has committed, and not if it rolls back.

    Outside of a transaction it runs at once.
    """
    if in_transaction():
        db.session().info["after_commit"].append(action)
    else:
        action()


def in_transaction() -> bool:
    """Tell whether this thread is in the block of a `transaction`."""
    return db.session.registry.has() and bool(db.session().info.get("in_transaction"))


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
    """Execute an UPDATE or DELETE; return the number of affected rows."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored in UTC and returned in UTC, on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True
    python_type = datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert an aware datetime to UTC; raise ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the value in UTC; SQLite returns naive values, which are UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def init_app(app: Flask) -> None:
    """Connect the app to its database."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    app.extensions["app_metadata"] = MetaData(naming_convention=Base.metadata.naming_convention)
    db.init_app(app)
    with app.app_context():
        prepare_engine(db.engine, app.config["STATEMENT_TIMEOUT"], app.logger)
