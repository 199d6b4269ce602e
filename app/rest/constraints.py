"""Responses to changes that violate a database constraint."""

from collections.abc import Sequence

from flask import Flask, Response
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError
from werkzeug.exceptions import Conflict, HTTPException

from app.database.faults import (
    Violated,
    is_foreign_key_violation,
    is_missing_value,
    violated_columns,
)
from app.error_responses import error_response
from app.errors import OVERTAKEN, REFERRED_TO, TAKEN, ValidationError

from .collection import Collection, served_collections


def init_app(app: Flask) -> None:
    """Register the error handler."""
    app.register_error_handler(IntegrityError, _handle_integrity_error)


def _handle_integrity_error(error: IntegrityError) -> Response:
    return error_response(http_error(error))


def http_error(error: IntegrityError) -> HTTPException:
    """Return a 422 that names the properties whose values already exist, else a 409.

    Raises the error itself if a value is missing: only code of a project stores such a row.
    """
    if is_missing_value(error):
        raise error
    if is_foreign_key_violation(error):
        return Conflict(REFERRED_TO)
    violated = violated_columns(error)
    if violated and (taken := _taken(violated)):
        return taken
    # Something that was checked before the change has been changed by another request.
    return Conflict(OVERTAKEN)


def _taken(violated: Violated) -> ValidationError | None:
    """Return the error for values in these columns that another row has.

    It names hidden properties, too, if clients may write them. None for a model that is not served,
    and for columns that clients neither read nor write.
    """
    for collection in served_collections.current.values():
        if collection.rows.key.table.name == violated.table:
            held = _columns(collection).items()
            names = [name for name, column in held if column in violated.columns]
            return _error(collection.singular, names) if names else None
    return None


def _error(model: str, names: Sequence[str]) -> ValidationError:
    error = ValidationError({name: [TAKEN] for name in names})
    if len(names) > 1:
        others = ", ".join(f"`{name}`" for name in names[:-1])
        error.sentences = f"another {model} has the same {others} and `{names[-1]}`"
        error.description = f"The request is not valid: {error.sentences}."
    return error


def _columns(collection: Collection) -> dict[str, str]:
    """Return the names of columns that clients can read or write, by property."""
    columns = inspect(collection.model).columns
    names = {
        field.data_key or name: field.attribute or name
        for name, field in collection.schema.fields.items()
        if not (field.load_only and field.dump_only)
    }
    return {name: columns[key].name for name, key in names.items() if key in columns}
