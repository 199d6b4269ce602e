"""The calls of a batch: reading them from its body, and finding their endpoints.

Whatever can be refused is refused here, before the first call runs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl
from urllib.parse import quote as percent_encode

from flask import Flask
from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule

from app.access.identity import QUERY, token_transports
from app.access.policy import authorize
from app.access.rules import READ
from app.errors import quote
from app.http.responses import encode_json
from app.rest import collection
from app.rest.endpoint import Endpoint, served_endpoints, switched_off
from app.rest.requests.bodies import Body
from app.rest.routing import routed_target

from .errors import CallPlace, InvalidBatch
from .references import KEY_JSON, ResultReference, in_body, in_path, without_references

#: Maximum calls of a batch.
MAX_CALLS = 50
#: Maximum characters of all paths of a batch together, with their query strings: half of those of
#: one request.
MAX_PATHS = 8000
#: Maximum characters of the id of a call in a batch.
MAX_ID = 64

REQUESTS = "requests"
VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
KEYS = ("id", "method", "path", "body", "ifMatch")
# All printable characters of ASCII but the space: what else a path has is encoded, as browsers do.
UNENCODED = "".join(map(chr, range(0x21, 0x7F)))
# Not in a path besides those of references.
BRACES = ("{", "}", "%7b", "%7d")


class CallTarget(NamedTuple):
    """What a call calls: a route, and the arguments in the path, which may have references."""

    rule: Rule
    arguments: Mapping[str, str]
    # The collection whose rows it creates or changes; None for a call that reads.
    written: collection.Collection | None


@dataclass(frozen=True)
class BatchCall:
    """A call of a batch that may be run, as it was sent."""

    position: int
    id: str | None
    verb: str
    # The path below the base path, and the query string, percent-encoded except for references.
    path: str
    query: str
    body: Body | list[Any] | None
    # The JSON of the body; empty without one.
    content: bytes
    if_match: str | None
    target: CallTarget
    # The references in the path and in the body.
    in_path: Sequence[ResultReference]
    in_body: Sequence[ResultReference]


class BatchReader:
    """Reads the calls of a batch."""

    def __init__(self, app: Flask, place: CallPlace) -> None:
        """Set `place` to the call that is being read."""
        self._place = place
        self._root = app.config["REST_API_ROOT"]
        self._routes = app.url_map.bind("")
        self._endpoints, self._off = served_endpoints.of(app), switched_off.of(app)
        self._collections = collection.served_collections.of(app)
        transports = token_transports.of(app)
        self._tokens = {name for location, name, _ in transports if location == QUERY}
        self._characters_left = MAX_PATHS
        # Most calls of a large batch have the same few routes.
        self._targets: dict[tuple[str, str], CallTarget] = {}

    def read(self, body: Body) -> list[BatchCall]:
        """Return the calls of a batch's body.

        Raises InvalidBatch, the errors of the router, and the access error for a method that the
        caller may not call on any row.
        """
        items = body.get(REQUESTS)
        if not isinstance(items, list) or not 1 <= len(items) <= MAX_CALLS or len(body) > 1:
            raise InvalidBatch(f"The body must have {REQUESTS}, with 1 to {MAX_CALLS} calls.")
        calls: list[BatchCall] = []
        earlier: set[str] = set()
        for position, item in enumerate(items):
            self._place.enter(position)
            calls.append(call := self._read_call(position, item, earlier))
            if call.id is not None:
                earlier.add(call.id)
        self._place.enter(None)
        return calls

    def _read_call(self, position: int, item: object, earlier: Collection[str]) -> BatchCall:
        if not isinstance(item, dict):
            raise InvalidBatch("A call must be an object.")
        if unknown := item.keys() - set(KEYS):
            known = ", ".join(KEYS)
            raise InvalidBatch(f"{quote(min(unknown))} is no key of a call; these are: {known}.")
        call_id = _read_id(item.get("id"), earlier)
        self._place.enter(position, call_id)
        verb, body, if_match = _read_values(item)
        path, query = self._read_path(item.get("path"))
        content = b"" if body is None else encode_json(body)
        of_path, of_body = list(in_path(path)), list(in_body(body)) if KEY_JSON in content else []
        for reference in (*of_path, *of_body):
            if reference.call not in earlier:
                raise InvalidBatch(f"No earlier call has the id {quote(reference.call)}.")
        target = self._target(verb, path)
        if target.written is not None:
            check_body(target.written, body)
        sent = (call_id, verb, path, query, body, content, if_match)
        return BatchCall(position, *sent, target, of_path, of_body)

    def _read_path(self, value: object) -> tuple[str, str]:
        """Return the path and the query string, percent-encoded; raise InvalidBatch."""
        if not isinstance(value, str) or not value.startswith("/"):
            raise InvalidBatch("path must be a path below the base path, which begins with /.")
        self._characters_left -= len(value)
        if self._characters_left < 0:
            raise InvalidBatch(f"The paths have more than {MAX_PATHS} characters together.")
        if not value.isprintable() or "#" in value:
            raise InvalidBatch("path must not have control characters or #.")
        path, _, query = percent_encode(value, safe=UNENCODED).partition("?")
        rest = without_references(path).lower()
        if any(brace in rest for brace in BRACES):
            raise InvalidBatch("Braces in a path are for references, as in {order.id}.")
        if query and self._tokens & {name for name, _ in parse_qsl(query, keep_blank_values=True)}:
            raise InvalidBatch("path must not have an access token: the batch has one.")
        return path, query

    def _target(self, verb: str, path: str) -> CallTarget:
        found = self._targets.get((verb, path))
        if found is None:
            found = self._targets[verb, path] = self._find_target(verb, path)
        return found

    def _find_target(self, verb: str, path: str) -> CallTarget:
        routed = routed_target(f"{self._root}{path}", self._root)
        text = routed.encode("latin-1").decode(errors="replace")
        try:
            rule, arguments = self._routes.match(text, verb, return_rule=True)
        except NotFound:
            raise _no_method(verb, path) from None
        name: str = rule.endpoint
        model, _, method = name.partition(".")
        if method in self._off.get(model, ()):
            raise _no_method(verb, path)
        endpoint = self._endpoints.get(name)
        if endpoint is None or not is_atomic(model, endpoint, self._collections):
            raise InvalidBatch(f"{quote(name)} may do what cannot be undone: send it alone.")
        # Again by its view. Here it spares others a transaction that will fail.
        authorize(model, method, arguments.get("id"))
        subject = self._collections.get(endpoint.subject or model)
        return CallTarget(rule, arguments, None if endpoint.access == READ else subject)


def is_atomic(
    model: str, endpoint: Endpoint, collections: Mapping[str, collection.Collection]
) -> bool:
    """Return True if a rollback undoes what an endpoint of a model does."""
    if not endpoint.atomic or endpoint.hashes:
        return False
    names = {model, endpoint.subject or model, *endpoint.answers}
    return all(collections[name].rows.in_database for name in names if name in collections)


def check_body(written: collection.Collection, body: Body | list[Any] | None) -> None:
    """Raise InvalidBatch for properties whose change a rollback would not undo."""
    rows = written.rows
    refused = rows.irreversible if rows.hashed is None else rows.irreversible | {rows.hashed}
    if not refused:
        return
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, dict) and (found := refused & item.keys()):
            raise InvalidBatch(f"{min(found)} cannot be set in a batch: send the call alone.")


def _read_values(item: Body) -> tuple[str, Body | list[Any] | None, str | None]:
    """Return the method, the body and the entity tag of a call; raise InvalidBatch."""
    verb, body, if_match = (item.get(name) for name in ("method", "body", "ifMatch"))
    if verb not in VERBS:
        raise InvalidBatch(f"method must be one of {', '.join(VERBS)}.")
    if body is not None and not isinstance(body, dict | list):
        raise InvalidBatch("body must be an object or an array.")
    if if_match is not None and not (isinstance(if_match, str) and if_match.isascii()):
        raise InvalidBatch("ifMatch must be an entity tag, as the answer of a call has it.")
    return verb, body, if_match


def _read_id(value: object, earlier: Collection[str]) -> str | None:
    if value is None:
        return None
    if not (isinstance(value, str) and value.isascii() and 1 <= len(value) <= MAX_ID):
        raise InvalidBatch(f"id must be text of 1 to {MAX_ID} characters.")
    if not value.replace("-", "a").replace("_", "a").isalnum():
        raise InvalidBatch("id must have letters, digits, _ and - only.")
    if value in earlier:
        raise InvalidBatch(f"Two calls have the id {value}.")
    return value


def _no_method(verb: str, path: str) -> NotFound:
    return NotFound(f"There is no method to handle {verb} {quote(path)}")
