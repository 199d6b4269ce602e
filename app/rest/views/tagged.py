"""One row: the answer with its `ETag`, and the check before it is changed.

The tag is of the JSON of the row as the caller sees it, whatever `fields` the request selects: it
thus tells nothing of hidden properties, and a client that has read a part may use it for a change.
"""

from collections.abc import Container

from flask import Response
from flask.typing import ResponseReturnValue

from app.http.json import encode
from app.ids import Id
from app.rest.collection import Collection
from app.rest.endpoint import JSON
from app.rest.requests.preconditions import entity_tag, is_known, read_preconditions
from app.rest.rows.repository import Conditions, Row, Values
from app.rest.rows.writer import Check

ETAG = "ETag"


def respond_row(collection: Collection, row: Row) -> ResponseReturnValue:
    """Answer with one row, with all of its properties; a read with 304 if the client has it."""
    body = encode(collection.serializer.dump(row))
    return _respond(entity_tag(body), body)


def respond_fields(collection: Collection, row: Row, fields: Container[str]) -> ResponseReturnValue:
    """Answer with some properties of one row as `respond_row` does, with the tag of all."""
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
    """Return what raises PreconditionFailed for a row that is not as the request's headers say.

    None if it has no such headers.
    """
    preconditions = read_preconditions()
    if preconditions is None:
        return None

    def check(row: Row) -> None:
        preconditions.check(entity_tag(encode(collection.serializer.dump(row))))

    return check


def check_new() -> None:
    """Raise PreconditionFailed if the request is for a row that exists: there is none."""
    if preconditions := read_preconditions():
        preconditions.check(None)


def check_first(collection: Collection, row_id: Id, scope: Conditions) -> Check | None:
    """Return what `read_check` does, once it was called with the row as it is.

    The body is thus not compared with a row that has changed. Raises what `or_denied` does.
    """
    check = read_check(collection)
    if check:
        check(collection.or_denied(row_id, collection.rows.get(row_id, scope)))
    return check
