"""Endpoints that a resource declares beyond those of every collection."""

from collections.abc import Mapping
from dataclasses import replace
from functools import wraps

from flask import Response, jsonify
from flask.typing import ResponseReturnValue

from app.access.policy import Grant
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, View
from app.rest.fields.base import Schema
from app.rest.resource import Resource
from app.rest.rows.repository import Row
from app.rest.rows.undeclared import flatten


def describe_own(resource: Resource, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint of a resource with what follows from whether it is about a row.

    And with what the resource says of all of them.
    """
    owned = endpoint.finds_row and resource.owner is not None
    session_only = endpoint.session_only
    if session_only is None:
        session_only = resource.session_only
    return replace(endpoint, owned=owned, by_row=endpoint.finds_row, session_only=session_only)


def bind_own(collection: Collection, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint of a resource whose view authorizes the id and gets the row."""
    view, many = endpoint.view, isinstance(endpoint.answer, list)
    schema = endpoint.answer[0] if many else endpoint.answer
    # The app's own schema may extend the one of the declaration.
    if isinstance(schema, type) and isinstance(collection.schema, schema):
        view = _dumping(collection, view, schema(), many)
    adapt = _with_row if endpoint.finds_row else _without_grant
    return replace(describe_own(collection.resource, endpoint), view=adapt(collection, view))


def _dumping(collection: Collection, view: View, schema: Schema, many: bool) -> View:
    """Wrap a view so that `loaded` is sent for the rows that it returns."""

    def dump(row: Row) -> Mapping[str, object]:
        return collection.serializer.emit_loaded(row, flatten(schema.dump(row)))

    @wraps(view)
    def call(*arguments: object, **named: object) -> ResponseReturnValue:
        result = view(*arguments, **named)
        if isinstance(result, Response):
            return result
        return jsonify(list(map(dump, result)) if many else dump(result))

    return call


def _with_row(collection: Collection, view: View) -> View:
    """Wrap a view so that it gets the row with the id in the path, if it is permitted."""

    @wraps(view)
    def call(grant: Grant, id: str, **arguments: object) -> object:
        row_id = collection.authorize_id(grant, id)
        row = collection.rows.read(row_id, grant)
        return view(collection.or_denied(row_id, row), **arguments)

    return call


def _without_grant(collection: Collection, view: View) -> View:
    """Wrap a view so that it is called without the grant, which only matters for rows."""

    @wraps(view)
    def call(grant: Grant, **arguments: object) -> object:
        return view(**arguments)

    return call
