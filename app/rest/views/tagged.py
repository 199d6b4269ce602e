"""Single rows: responses with an `ETag`, and the check before a change.

The tag is of the row's JSON as the caller sees it, regardless of the request's `fields`: it
therefore reveals no hidden properties, and a client that has read a part may use it for a change.
"""

from collections.abc import Container

from flask import Response
from flask.typing import ResponseReturnValue

from app.http.json import encode
from app.ids import Id
from app.rest.collection import Collection
from app.rest.endpoint import JSON
from app.rest.requests.preconditions import entity_tag, is_known, read_preconditions
from app.rest.rows.values import Conditions, Row, Values
from app.rest.rows.writer import Check

ETAG = "ETag"


def respond_row(collection: Collection, row: Row) -> ResponseReturnValue:
    """Return the response with one row and all of its properties; 304 if the client has it."""
    body = encode(collection.serializer.dump(row))
    return _respond(entity_tag(body), body)


def respond_fields(collection: Collection, row: Row, fields: Container[str]) -> ResponseReturnValue:
    """Return the response with some properties of a row, with the tag of `respond_row`."""
    whole = collection.serializer.dump(row)
    return _respond(entity_tag(encode(whole)), encode(select_fields(whole, fields)))


def select_fields(object_: Values, fields: Container[str]) -> Values:
    """Return the object of a row with some of its properties."""
    return {name: value for name, value in object_.items() if name in fields}


def _respond(tag: str, body: bytes) -> ResponseReturnValue:
    response = Response(status=304) if is_known(tag) else Response(body, content_type=JSON)
    response.headers.add(ETAG, f'"{tag}"')
    return response


def read_check(collection: Collection) -> Check | None:
    """Return a function that checks a row by the request's headers; it raises PreconditionFailed.

    None without such headers.
    """
    preconditions = read_preconditions()
    if preconditions is None:
        return None

    def check(row: Row) -> None:
        preconditions.check(entity_tag(encode(collection.serializer.dump(row))))

    return check


def check_new() -> None:
    """Raise PreconditionFailed if the request requires a row to exist."""
    if preconditions := read_preconditions():
        preconditions.check(None)


def check_first(collection: Collection, row_id: Id, scope: Conditions) -> Check | None:
    """Return what `read_check` does, after calling its check with the current row.

    So the body is not compared with a row that has changed. Raises the errors of `or_denied`.
    """
    check = read_check(collection)
    if check:
        check(collection.or_denied(row_id, collection.rows.get(row_id, scope)))
    return check
