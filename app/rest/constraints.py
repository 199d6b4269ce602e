"""The answers to changes that violate a constraint of the database."""

import re
from typing import Any, NamedTuple

from flask import Flask, Response
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError
from werkzeug.exceptions import Conflict, HTTPException

from app.errors import ValidationError, error_response

from .collection import Collection, served_collections

# The columns in PostgreSQL's `Key (sku)=(LAMP-1) already exists.`, and the same in any language.
POSTGRES_COLUMNS = re.compile(r"\((.*?)\)=\(")
# Table and columns in SQLite's `UNIQUE constraint failed: products.sku, products.name`.
SQLITE_COLUMNS = re.compile(r"(\w+)\.(\w+)(?:, |$)")
# SQLSTATEs of PostgreSQL, and names of SQLite's errors.
UNIQUE = {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
FOREIGN_KEY = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}


class Violated(NamedTuple):
    """The columns of a unique constraint."""

    table: str
    columns: set[str]


def init_app(app: Flask) -> None:
    """Register the error handler."""
    app.register_error_handler(IntegrityError, _handle_integrity_error)


def _handle_integrity_error(error: IntegrityError) -> Response:
    return error_response(_http_error(error))


def _http_error(error: IntegrityError) -> HTTPException:
    """Return a 422 that names the properties whose values exist already, else a 409."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None)
    if code in FOREIGN_KEY:
        return Conflict("Other rows refer to the row, or it refers to a row that is gone.")
    taken = _taken(_violated(error.orig)) if code in UNIQUE else []
    if taken:
        return ValidationError({name: ["already exists"] for name in taken})
    # What is checked before a change was changed by another request meanwhile.
    return Conflict("The change conflicts with one made at the same time.")


def _violated(cause: Any) -> Violated:
    """Return which unique constraint the database names."""
    if hasattr(cause, "diag"):
        found = POSTGRES_COLUMNS.search(cause.diag.message_detail or "")
        columns = found[1].split(", ") if found else []
        return Violated(cause.diag.table_name or "", {name.strip('"') for name in columns})
    places = SQLITE_COLUMNS.findall(str(cause))
    return Violated(places[0][0] if places else "", {column for _, column in places})


def _taken(violated: Violated) -> list[str]:
    """Return the properties of these columns, also hidden ones, which clients may write.

    Those of a model that is not served have none.
    """
    for collection in served_collections.current.values():
        if collection.rows.key.table.name == violated.table:
            held = _columns(collection)
            return [name for name, column in held.items() if column in violated.columns]
    return []


def _columns(collection: Collection) -> dict[str, str]:
    """Return the names of the columns that clients read or write, by property."""
    columns = inspect(collection.model).columns
    fields = collection.schema.fields.items()
    names = {field.data_key or name: field.attribute or name for name, field in fields}
    return {name: columns[key].name for name, key in names.items() if key in columns}
