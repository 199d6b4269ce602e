"""The database: session, model base class, transactions and column types."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from flask import Flask, current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import (
    BigInteger,
    Connection,
    CursorResult,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    String,
    Uuid,
    event,
    inspect,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapper, Session
from sqlalchemy.sql.dml import Delete, Update
from sqlalchemy.types import TypeDecorator, TypeEngine

from app import ids
from app.ids import Id, IdForm

from .engine import engine_options, prepare_engine


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
    with app.app_context():
        with db.engine.connect() as connection:
            found = inspect(connection).get_multi_columns(filter_names=list(own))
        # Forked processes must not share a connection.
        db.engine.dispose()
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
    try:
        _begin(session)
    except DBAPIError as error:
        if not may_repeat(error):
            raise
        _begin(session)
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


def _begin(session: Session) -> None:
    opened = session.connection()
    # On SQLite a transaction that starts with a read fails to write if another one wrote since.
    is_sqlite = opened.dialect.name == "sqlite"
    opened.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite else "BEGIN")


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


class IdColumn(TypeDecorator[Id]):
    """Base class of the types of ids; `form` is what all ids of the column have."""

    impl: type[TypeEngine[Any]] = String
    cache_ok = True
    form: IdForm

    @property
    def python_type(self) -> type[Any]:
        """The type of its values: `int` or `str`."""
        return self.form.python_type

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that stores the ids."""
        return dialect.type_descriptor(id_storage(self.form.name))


class IntegerId(IdColumn):
    """Ids that count up, given by the database."""

    impl = BigInteger
    cache_ok = True
    form = ids.INTEGER


class UuidId(IdColumn):
    """UUIDs, as text in Python."""

    cache_ok = True
    form = ids.UUID


class ObjectId(IdColumn):
    """24 hexadecimal digits, as MongoDB has them."""

    cache_ok = True
    form = ids.OBJECT_ID


class TextId(IdColumn):
    """Text of at most `length` characters; generated if a UUID fits."""

    cache_ok = True

    def __init__(self, length: int = ids.MAX_TEXT_ID) -> None:
        super().__init__()
        self.length = length
        self.form = ids.text_form(length)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that stores the ids."""
        return dialect.type_descriptor(_by_code_point(self.length))


class RowId(IdColumn):
    """Ids of users and of the shipped models: of the form that ID_TYPE says, for each app."""

    # SQLAlchemy numbers rows by columns of this kind, unless they have an id.
    impl = BigInteger
    cache_ok = True

    @property
    def form(self) -> IdForm:  # type: ignore[override]
        """The form of the current app's ids."""
        return app_id_form()

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that stores the ids of the app whose engine this is."""
        return dialect.type_descriptor(id_storage(getattr(dialect, "id_type", ids.INTEGER.name)))


def id_storage(id_type: str) -> TypeEngine[Any]:
    """Return what the ids that ID_TYPE names are stored as; migrations use it too."""
    if id_type == ids.UUID.name:
        return Uuid(as_uuid=False).with_variant(String(ids.UUID_LENGTH), "sqlite")
    if id_type == ids.OBJECT_ID.name:
        return _by_code_point(24)
    # 64 bits; SQLite generates ids only for INTEGER columns.
    return BigInteger().with_variant(Integer, "sqlite")


def _by_code_point(length: int) -> TypeEngine[Any]:
    """Return a type of text that sorts by code point, as SQLite does by itself."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def stored_id_type(connection: Connection) -> str | None:
    """Return the ID_TYPE that the database was created with, which the ids of users tell.

    None for a database without users' table.
    """
    inspector = inspect(connection)
    if not inspector.has_table("users"):
        return None
    types = {column["name"]: column["type"] for column in inspector.get_columns("users")}
    if isinstance(types["id"], Uuid) or getattr(types["id"], "length", None) == ids.UUID_LENGTH:
        return ids.UUID.name
    return (ids.OBJECT_ID if isinstance(types["id"], String) else ids.INTEGER).name


def app_id_form() -> IdForm:
    """Return the form of the current app's ids."""
    return ids.FORMS[current_app.config["ID_TYPE"]]


def new_id(type_: TypeEngine[Any]) -> Id | None:
    """Return a new id for a column of this type; None if the database generates it."""
    generate = type_.form.generate if isinstance(type_, IdColumn) else None
    return generate() if generate else None


@event.listens_for(Mapper, "before_insert")
def _set_id(mapper: Mapper[Any], _connection: Connection, row: Any) -> None:
    """Give a new object its id, unless it has one or the database generates it."""
    key = mapper.columns.get("id")
    if key is not None and row.id is None and (id := new_id(key.type)) is not None:
        row.id = id


def init_app(app: Flask) -> None:
    """Connect the app to its database."""
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(app.config)
    app.extensions["app_metadata"] = MetaData(naming_convention=Base.metadata.naming_convention)
    db.init_app(app)
    with app.app_context():
        # Read by RowId.
        db.engine.dialect.id_type = app.config["ID_TYPE"]  # type: ignore[attr-defined]
        prepare_engine(db.engine, app.config["STATEMENT_TIMEOUT"], app.logger)
