"""Representations of rows: responses with an `ETag`, and what clients send back of them.

The tag is of the row's JSON as the caller sees it, regardless of the request's `fields`: it
therefore reveals no hidden properties, and a client that has read a part may use it for a change.
See RFC 9110, 8.8.3 and 13.

If the model has computed properties, the tag has two parts: of the stored properties, and of all.
`If-Match` compares the first one: a change overwrites no computed value, and is not refused because
one has changed.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from flask import Response, current_app, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import ETags
from werkzeug.exceptions import BadRequest
from werkzeug.http import parse_etags

from app.errors import IdFixed, PreconditionFailed
from app.fields.files import without_signature
from app.http.responses import JSONResponse, encode_json
from app.ids import Id
from app.rest.answers import JSON
from app.rest.collection import Collection
from app.rest.filters.tree import Filter
from app.rest.rows.values import Conditions, Row, Values
from app.rest.rows.writer import Check
from app.settings import is_compatible

from .serialization import Includes, select_fields, serialize

ETAG = "ETag"
#: Maximum characters of `If-Match` and `If-None-Match`: some 25 tags.
MAX_TAGS_LENGTH = 1000
TAGS_TOO_LONG = f"{{}} has more than {MAX_TAGS_LENGTH} characters."
IF_MATCH, IF_NONE_MATCH = "If-Match", "If-None-Match"
# Between the parts of a tag: of the stored properties, and of all.
BETWEEN_PARTS = "."
READS = ("GET", "HEAD")


def respond_created(
    collection: Collection, rows: Sequence[Row], body: object
) -> ResponseReturnValue:
    """Return the response with the rows that a body has created: an array if the body is one."""
    if isinstance(body, list):
        return jsonify(list(map(collection.serializer.dump, rows)))
    return respond_row(collection, rows[0])


def respond_selected(
    collection: Collection, row: Row, filter_: Filter, includes: Includes | None = None
) -> ResponseReturnValue:
    """Return the response with one row as selected; `includes` are the filter's, if already parsed.

    A response with includes has no entity tag, because they change independently of the row.
    """
    if filter_.include:
        return jsonify(serialize(collection, [row], filter_, includes)[0])
    if filter_.fields is None:
        return respond_row(collection, row)
    return _respond_fields(collection, row, filter_.fields)


def respond_row(collection: Collection, row: Row) -> ResponseReturnValue:
    """Return the response with one row and all of its properties; 304 if the client has it."""
    dumped = collection.serializer.dump(row)
    body = encode_json(dumped)
    return _respond(collection, dumped, _entity_tag(collection, dumped, body), body)


def _respond_fields(
    collection: Collection, row: Row, fields: Container[str]
) -> ResponseReturnValue:
    """Return the response with some properties of a row, with the tag of `respond_row`."""
    whole = collection.serializer.dump(row)
    tag = _entity_tag(collection, whole, encode_json(whole))
    return _respond(collection, whole, tag, encode_json(select_fields(whole, fields)))


def _respond(collection: Collection, dumped: Values, tag: str, body: bytes) -> ResponseReturnValue:
    """Return the response with a row; 304 if the client has it without URLs that expire."""
    expires = collection.files and any(dumped.get(name) for name in collection.files)
    is_known = not expires and _is_known(tag)
    response = Response(status=304) if is_known else JSONResponse(body, content_type=JSON)
    response.headers.add(ETAG, f'"{tag}"')
    return response


def _entity_tag(collection: Collection, dumped: Values, body: bytes) -> str:
    """Return the entity tag of a row with this JSON, without the quotes of the header.

    It does not change with the signatures of the URLs of files, which change with time.
    """
    if collection.files:
        dumped = _unsigned(collection, dumped)
        body = encode_json(dumped)
    whole = blake2b(body, digest_size=16).hexdigest()
    if not collection.computed:
        return whole
    stored = {name: value for name, value in dumped.items() if name not in collection.computed}
    return blake2b(encode_json(stored), digest_size=16).hexdigest() + BETWEEN_PARTS + whole


def _of_stored(tag: str) -> str:
    """Return the part of a tag that is of the stored properties."""
    return tag.partition(BETWEEN_PARTS)[0]


def _is_known(tag: str) -> bool:
    """Return True if a read should be answered with 304, because the client has the content.

    Raises BadRequest for too many tags.
    """
    environ = request.environ
    if "HTTP_IF_NONE_MATCH" not in environ or environ["REQUEST_METHOD"] not in READS:
        return False
    return _parse(IF_NONE_MATCH, environ["HTTP_IF_NONE_MATCH"]).contains_weak(tag)


def _unsigned(collection: Collection, dumped: Values) -> Values:
    files = collection.files
    return {
        name: without_signature(value) if name in files else value for name, value in dumped.items()
    }


def check_first(collection: Collection, row_id: Id, scope: Conditions) -> Check | None:
    """Return what `read_check` does, after calling its check with the current row.

    So the body is not compared with a row that has changed. Raises the errors of `or_denied`.
    """
    check = read_check(collection)
    if check:
        check(collection.or_denied(row_id, collection.rows.get(row_id, scope)))
    return check


def read_check(collection: Collection) -> Check | None:
    """Return a function that checks a row by the request's headers; it raises PreconditionFailed.

    None without such headers.
    """
    preconditions = _read_preconditions()
    if preconditions is None:
        return None

    def check(row: Row) -> None:
        dumped = collection.serializer.dump(row)
        preconditions.check(_entity_tag(collection, dumped, encode_json(dumped)))

    return check


def check_new() -> None:
    """Raise PreconditionFailed if the request requires a row to exist."""
    if preconditions := _read_preconditions():
        preconditions.check(None)


@dataclass(frozen=True)
class Preconditions:
    """The tags in each header of a change; None without such a header."""

    match: ETags | None
    none_match: ETags | None

    def check(self, tag: str | None) -> None:
        """Raise PreconditionFailed unless the preconditions permit changing content with this tag.

        None stands for a row that does not exist.
        """
        if self.match is not None and not self._matches(tag):
            raise PreconditionFailed(IF_MATCH)
        if self.none_match is not None and tag and self.none_match.contains_weak(tag):
            raise PreconditionFailed(IF_NONE_MATCH)

    def _matches(self, tag: str | None) -> bool:
        """Return True if `If-Match` has the tag of the stored properties."""
        if tag is None or self.match is None:
            return False
        if tag in self.match:
            return True
        return _of_stored(tag) in map(_of_stored, self.match.as_set())


def _read_preconditions() -> Preconditions | None:
    """Return the preconditions of a change, or None; raise BadRequest for too many tags."""
    given = [request.environ.get(key) for key in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")]
    if given == [None, None]:
        return None
    names = (IF_MATCH, IF_NONE_MATCH)
    pairs = zip(names, given, strict=True)
    return Preconditions(*(None if text is None else _parse(name, text) for name, text in pairs))


def _parse(name: str, text: str) -> ETags:
    if len(text) > MAX_TAGS_LENGTH:
        raise BadRequest(TAGS_TOO_LONG.format(name))
    return parse_etags(text)


def without_echo(collection: Collection, row_id: Id, scope: Conditions, body: Values) -> Values:
    """Return the body of a change without unchanged values that clients cannot write.

    These are computed properties, whatever their values, and read-only properties and included
    relations, if they are as in the row. Raises the errors of `Collection.or_denied`, and IdFixed
    for another id with COMPATIBILITY, which removes all other read-only values from bodies.
    """
    if is_compatible(current_app.config) and collection.id_name in body:
        given = body[collection.id_name]
        if collection.id_form.parse(str(given)) != row_id:
            collection.or_denied(row_id, collection.rows.get(row_id, scope))
            raise IdFixed(collection.id_name)
        body = {**body, collection.id_name: row_id}
    if collection.computed:
        # Sent back as it was read; it may have changed since.
        body = {name: value for name, value in body.items() if name not in collection.computed}
    unwritable = (collection.read_only | collection.relations.keys()) & body.keys()
    if not unwritable:
        return body
    row = collection.or_denied(row_id, collection.rows.get(row_id, scope))
    relations = [name for name in collection.shown_relations if name in unwritable]
    current = serialize(collection, [row], collection.parse({"include": relations}))[0]
    return {
        name: value
        for name, value in body.items()
        if name not in unwritable or not _is_same(value, current.get(name))
    }


def _is_same(sent: object, current: object) -> bool:
    """Return True if a value is the current one; of an object, only given properties count."""
    if isinstance(sent, list) and isinstance(current, list):
        return len(sent) == len(current) and all(map(_is_same, sent, current))
    if isinstance(sent, dict) and isinstance(current, dict):
        return all(
            name in current and _is_same(value, current[name]) for name, value in sent.items()
        )
    return bool(sent == current)
