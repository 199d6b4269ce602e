"""Tables of an app: those that every app has, and its own."""

from flask import Flask
from sqlalchemy import MetaData

from app.state import AppState

from .session import Base, db


def _new_metadata(_app: Flask) -> MetaData:
    return MetaData(naming_convention=Base.metadata.naming_convention)


# The tables that only this app has, or that it has with other columns. They follow from its
# settings and its models in JSON; all others are in `db.metadata`.
app_metadata = AppState("tables of its own", factory=_new_metadata)


def all_metadata(app: Flask) -> MetaData:
    """Return all tables of an app."""
    own = app_metadata.of(app).tables
    if not own:
        return db.metadata
    merged = _new_metadata(app)
    for table in {**db.metadata.tables, **own}.values():
        table.to_metadata(merged)
    return merged
