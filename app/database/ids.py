"""Column types of ids, and new ids."""

from typing import Any

from flask import current_app
from sqlalchemy import BigInteger, Column, Connection, Dialect, String, Uuid, event, inspect
from sqlalchemy.orm import Mapper
from sqlalchemy.types import TypeDecorator, TypeEngine

from app import ids
from app.ids import Id, IdForm

from .dialects import BIG_INTEGER, UUID_TEXT, text_type


class IdColumn(TypeDecorator[Id]):
    """Base class of the types of ids; `form` is what all ids of the column have."""

    impl: type[TypeEngine[Any]] = String
    cache_ok = True
    form: IdForm

    @property
    def python_type(self) -> type[Any]:
        """The type of its values: `int` or `str`."""
        return self.form.python_type

    @property
    def storage(self) -> TypeEngine[Any]:
        """The type that stores the ids."""
        return id_storage(self.form.name)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that stores the ids."""
        return dialect.type_descriptor(self.storage)


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

    @property
    def storage(self) -> TypeEngine[Any]:
        """The type that stores the ids."""
        return text_type(self.length)


class RowId(IdColumn):
    """Ids of the form that the setting ID_TYPE says: those of users, and of models by default."""

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
        return UUID_TEXT
    return text_type(24) if id_type == ids.OBJECT_ID.name else BIG_INTEGER


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


def key_value(column: Column[Any], row_id: Id) -> Id:
    """Return an id as a column has it that holds ids of rows of several tables: text, perhaps."""
    return str(row_id) if column.type.python_type is str else row_id


@event.listens_for(Mapper, "before_insert")
def _set_id(mapper: Mapper[Any], _connection: Connection, row: Any) -> None:
    """Give a new object its id, unless it has one or the database generates it."""
    key = mapper.columns.get("id")
    if key is not None and row.id is None and (id := new_id(key.type)) is not None:
        row.id = id
