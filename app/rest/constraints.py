"""Responses to changes that violate a database constraint."""

from flask import Flask, Response
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError
from werkzeug.exceptions import Conflict, HTTPException

from app.database.faults import Violated, is_foreign_key_violation, violated_columns
from app.error_responses import error_response
from app.errors import OVERTAKEN, REFERRED_TO, TAKEN, ValidationError

from .collection import Collection, served_collections


def init_app(app: Flask) -> None:
    """Register the error handler."""
    app.register_error_handler(IntegrityError, _handle_integrity_error)


def _handle_integrity_error(error: IntegrityError) -> Response:
    return error_response(http_error(error))


def http_error(error: IntegrityError) -> HTTPException:
    """Return a 422 that names the properties whose values already exist, else a 409."""
    if is_foreign_key_violation(error):
        return Conflict(REFERRED_TO)
    violated = violated_columns(error)
    if violated and (taken := _taken(violated)):
        return ValidationError({name: [TAKEN] for name in taken})
    # Something that was checked before the change has been changed by another request.
    return Conflict(OVERTAKEN)


def _taken(violated: Violated) -> list[str]:
    """Return the properties of these columns, including hidden ones that clients may write.

    Empty for a model that is not served.
    """
    for collection in served_collections.current.values():
        if collection.rows.key.table.name == violated.table:
            held = _columns(collection)
            return [name for name, column in held.items() if column in violated.columns]
    return []


def _columns(collection: Collection) -> dict[str, str]:
    """Return the names of columns that clients can read or write, by property."""
    columns = inspect(collection.model).columns
    fields = collection.schema.fields.items()
    names = {field.data_key or name: field.attribute or name for name, field in fields}
    return {name: columns[key].name for name, key in names.items() if key in columns}
