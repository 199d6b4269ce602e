"""Endpoints that a resource declares in addition to those of every collection."""

from collections.abc import Sequence
from functools import cache, wraps

from flask import Response, jsonify

from app.access.policy import Grant
from app.fields.base import Schema
from app.rest.answers import check_dumped, fitting
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, View
from app.rest.resource import Resource
from app.rest.rows.json_values import flatten
from app.rest.rows.values import Row, Values


def describe_own(resource: Resource, endpoint: Endpoint) -> Endpoint:
    """Return a resource's endpoint with the consequences of whether it is about a row.

    Settings of the resource for all of its endpoints are applied, too.
    """
    owned = endpoint.finds_row and resource.owner is not None
    session_only = endpoint.session_only
    if session_only is None:
        session_only = resource.session_only
    return endpoint.replace(owned=owned, by_row=endpoint.finds_row, session_only=session_only)


def bind_own(collection: Collection, endpoint: Endpoint) -> Endpoint:
    """Return a resource's endpoint whose view authorizes the id and gets the row."""
    view, many = endpoint.view, isinstance(endpoint.answer, list)
    if endpoint.gets_collection:
        view = _with_collection(collection, view)
    schema = endpoint.answer[0] if many else endpoint.answer
    if isinstance(schema, type):
        view = _dumping(collection, endpoint.replace(view=view), schema, many)
    adapt = _with_row if endpoint.finds_row else _without_grant
    return describe_own(collection.resource, endpoint).replace(view=adapt(collection, view))


def _dumping(collection: Collection, endpoint: Endpoint, schema: type[Schema], many: bool) -> View:
    """Wrap a view so that clients see of the returned rows what they see of all rows.

    The rows are the collection's or, if its schema is not the response's, another one's.
    """

    name, view = f"{collection.name}.{endpoint.method}", endpoint.view

    @cache
    def find_collection() -> Collection | None:
        return collection_with(schema, collection)

    @wraps(view)
    def call(*arguments: object, **named: object) -> object:
        result, source = view(*arguments, **named), find_collection()
        if isinstance(result, Response) or source is None:
            return result
        result = fitting(name, endpoint.answer, result)
        found = _dump(source, result if many else [result])
        dumped = found if many else found[0]
        check_dumped(name, source.schema, result, dumped)
        return jsonify(dumped)

    return call


def collection_with(schema: type[object], own: Collection | None) -> Collection | None:
    """Return the collection that a schema serializes, preferably the own one; None without any."""
    # The app's own schema may extend the declared one.
    if own is not None and isinstance(own.schema, schema):
        return own
    others = served_collections.current.values()
    return next((other for other in others if other.resource.schema is schema), None)


def _dump(collection: Collection, rows: Sequence[Row]) -> list[Values]:
    dumped = [flatten(collection.schema.dump(row)) for row in rows]
    _add_computed(collection, rows, dumped)
    pairs = zip(rows, dumped, strict=True)
    return [collection.serializer.emit_loaded(row, object_) for row, object_ in pairs]


def _add_computed(collection: Collection, rows: Sequence[Row], dumped: Sequence[Values]) -> None:
    """Add computed properties to objects of rows without them, such as entities."""
    lacking = [
        (row.id, object_)
        for row, object_ in zip(rows, dumped, strict=True)
        if collection.computed.keys() - object_.keys() and hasattr(row, "id")
    ]
    if not lacking:
        return
    stored = collection.rows
    values = stored.shown.computed_values(stored.key, [row_id for row_id, _ in lacking])
    for row_id, object_ in lacking:
        for (name, column), value in zip(collection.computed.items(), values[row_id], strict=True):
            object_[name] = None if value is None else column.result.write(value)


def _with_row(collection: Collection, view: View) -> View:
    """Wrap a view so that it gets the row with the id in the path, if permitted."""

    @wraps(view)
    def call(grant: Grant, id: str, **arguments: object) -> object:
        row_id = collection.authorize_id(grant, id)
        row = collection.rows.read(row_id, grant)
        return view(collection.or_denied(row_id, row), **arguments)

    return call


def _with_collection(collection: Collection, view: View) -> View:
    """Wrap a view so that it gets the collection that serves it."""

    @wraps(view)
    def call(*arguments: object, **named: object) -> object:
        return view(*arguments, collection=collection, **named)

    return call


def _without_grant(collection: Collection, view: View) -> View:
    """Wrap a view so that it is called without the grant, which only matters for rows."""

    @wraps(view)
    def call(grant: Grant, **arguments: object) -> object:
        return view(**arguments)

    return call
