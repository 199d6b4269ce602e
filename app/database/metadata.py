"""Tables of an app: those that all apps share, and its own."""

from collections.abc import Iterator

from flask import Flask
from sqlalchemy import Connection, MetaData, Table
from sqlalchemy.types import NullType

from app.state import AppState

from .session import Base, Model, db

# The key in a column's `info` for a function that returns the default for bodies; a migration gives
# it to existing rows.
DEFAULT = "default"


def _new_metadata(_app: Flask) -> MetaData:
    return MetaData(naming_convention=Base.metadata.naming_convention)


# The tables that only this app has, or has with other columns, by its settings and models in JSON;
# all others are in `db.metadata`.
app_metadata = AppState("tables of its own", factory=_new_metadata)


class DerivedObjects:
    """Objects of the database that follow from the models beside tables: by default none.

    Migrations do not have them; they are brought up to date after these.
    """

    def missing(self, connection: Connection) -> list[str]:
        """Return what the database lacks, for an error."""
        return []

    def update(self, connection: Connection) -> None:
        """Make what the database lacks, and drop what it has too much."""


derived_objects = AppState("derived objects", factory=lambda _app: DerivedObjects())


def is_stored(source: object) -> bool:
    """Return True for a table of the current app's database, and False for other rows."""
    known = db.metadata, app_metadata.current
    return isinstance(source, Table) and any(source.metadata is metadata for metadata in known)


def project_tables() -> dict[str, Table]:
    """Return the tables in `db.metadata` of the project's Python models.

    The product's tables are those of models in its package.
    """
    own = {getattr(model, "__table__", None) for model in _models() if _is_own(model)}
    return {name: table for name, table in db.metadata.tables.items() if table not in own}


def drop_project_models() -> None:
    """Remove the tables and model names of the project's Python, for another project.

    Apps that already have the models can still use them.
    """
    for table in project_tables().values():
        db.metadata.remove(table)
    for model in _models():
        if not _is_own(model):
            Model.registry._dispose_cls(model)


def _models(base: type[Base] = Model) -> Iterator[type[Base]]:
    """Yield the model classes, including any whose declaration failed."""
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _is_own(model: type[Base]) -> bool:
    return model.__module__.partition(".")[0] == "app"


def type_foreign_keys(app: Flask) -> None:
    """Set the types of foreign keys of models in Python that refer to tables of models in JSON.

    SQLAlchemy does so only for columns that refer to tables of the same `MetaData`.
    """
    own = app_metadata.of(app).tables
    for table in project_tables().values():
        for key in table.foreign_keys:
            target, _, column = key.target_fullname.rpartition(".")
            if isinstance(key.parent.type, NullType) and target in own:
                key.parent.type = own[target].columns[column].type


def all_metadata(app: Flask) -> MetaData:
    """Return all tables of an app."""
    own = app_metadata.of(app).tables
    if not own:
        return db.metadata
    merged = _new_metadata(app)
    for table in {**db.metadata.tables, **own}.values():
        table.to_metadata(merged)
    return merged
