"""The database: session, base class, column types, time."""

import math
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, has_request_context
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import BigInteger, Connection, DateTime, Dialect, Engine, Integer, MetaData, event
from sqlalchemy.orm import DeclarativeBase
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


# SQLite's instructions between two looks at the clock; a thousand rows of a list are about 10,000.
STEPS_BETWEEN_CHECKS = 10_000


def init_app(app: Flask) -> None:
    """Connect the app to its database and its migrations."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    db.init_app(app)
    migrate.init_app(app, db)
    with app.app_context():
        prepare_engine(db.engine, app.logger)
        event.listen(db.engine, "connect", _prepare_sqlite)
        if db.engine.dialect.name == "sqlite":
            _limit_statements(db.engine, app.config["STATEMENT_TIMEOUT"])


def _limit_statements(engine: Engine, seconds: float) -> None:
    """Interrupt each statement of a request that takes SQLite longer.

    Migrations and commands, which no client waits for, may take as long as they need.
    """

    @event.listens_for(engine, "connect")
    def watch(connection: sqlite3.Connection, record: Any) -> None:
        info = record.info
        info["deadline"] = math.inf
        connection.set_progress_handler(
            lambda: time.monotonic() > info["deadline"], STEPS_BETWEEN_CHECKS
        )

    @event.listens_for(engine, "before_cursor_execute")
    def start(connection: Connection, *_: Any) -> None:
        deadline = time.monotonic() + seconds if has_request_context() else math.inf
        connection.info["deadline"] = deadline


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Readers beside one writer, enforced foreign keys, and waiting instead of failing."""
    if isinstance(connection, sqlite3.Connection):
        for pragma in (
            "busy_timeout=10000",
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
