"""The calls of a batch: reading them from its body, and finding their endpoints.

Whatever can be refused is refused here, before the first call runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl
from urllib.parse import quote as percent_encode

from flask import current_app
from werkzeug.exceptions import NotFound

from app.access.identity import QUERY, token_transports
from app.access.rules import READ
from app.errors import quote
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, served_endpoints, switched_off
from app.rest.requests.bodies import Body
from app.rest.routing import routed_target

from .errors import InvalidBatch, Place
from .references import Reference, in_body, in_path

#: Maximum calls of a batch.
MAX_CALLS = 50
#: Maximum characters of the path of a call in a batch, with its query string.
MAX_PATH = 8000
#: Maximum characters of the id of a call in a batch.
MAX_ID = 64

REQUESTS = "requests"
VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
KEYS = ("id", "method", "path", "body", "ifMatch")
# All printable characters of ASCII but the space: what else a path has is encoded, as browsers do.
UNENCODED = "".join(map(chr, range(0x21, 0x7F)))
ENCODED_BRACES = ("%7b", "%7d")


@dataclass(frozen=True)
class Call:
    """A call of a batch that may be run: as it was sent, and what it calls."""

    position: int
    id: str | None
    verb: str
    # The path below the base path and the query string, percent-encoded except for references.
    path: str
    query: str
    body: Body | list[Any] | None
    if_match: str | None
    # The name of the view, its rule, and the arguments of the path, which may have references.
    rule: Any
    arguments: Mapping[str, str]
    # The rows that it creates or changes; None for those of several models.
    subject: Collection | None
    # The references in the path and in the body.
    in_path: Sequence[Reference]
    in_body: Sequence[Reference]


def read_calls(body: Body, place: Place) -> list[Call]:
    """Return the calls of a batch's body; raise InvalidBatch, and errors of routes.

    `place` is set to the call that is being read.
    """
    items = body.get(REQUESTS)
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_CALLS or len(body) > 1:
        raise InvalidBatch(f"The body must be {{requests: [...]}}, with 1 to {MAX_CALLS} calls.")
    calls: list[Call] = []
    for position, item in enumerate(items):
        place.enter(position)
        calls.append(_read_call(position, item, [call.id for call in calls], place))
    place.enter(None)
    return calls


def referred_calls(calls: Sequence[Call]) -> set[str]:
    """Return the ids of the calls whose answers others refer to."""
    return {reference.call for call in calls for reference in (*call.in_path, *call.in_body)}


def _read_call(position: int, item: object, earlier: Sequence[str | None], place: Place) -> Call:
    if not isinstance(item, dict):
        raise InvalidBatch("A call must be an object.")
    if unknown := item.keys() - set(KEYS):
        raise InvalidBatch(f"{quote(min(unknown))} is no key of a call; it has {', '.join(KEYS)}.")
    call_id = _read_id(item.get("id"), earlier)
    place.enter(position, call_id)
    verb = item.get("method")
    if verb not in VERBS:
        raise InvalidBatch(f"method must be one of {', '.join(VERBS)}.")
    body, if_match = item.get("body"), item.get("ifMatch")
    if body is not None and not isinstance(body, dict | list):
        raise InvalidBatch("body must be an object or an array.")
    if if_match is not None and not (isinstance(if_match, str) and if_match.isascii()):
        raise InvalidBatch("ifMatch must be an entity tag, as the answer of a call has it.")
    path, query = _read_path(item.get("path"))
    of_path, of_body = list(in_path(path)), list(in_body(body))
    for reference in (*of_path, *of_body):
        if reference.call not in earlier:
            raise InvalidBatch(f"No earlier call has the id {quote(reference.call)}.")
    rule, arguments = _match(verb, path)
    subject = _find_subject(rule.endpoint, body)
    call = (call_id, verb, path, query, body, if_match, rule, arguments, subject)
    return Call(position, *call, of_path, of_body)


def _read_id(value: object, earlier: Sequence[str | None]) -> str | None:
    if value is None:
        return None
    if not (isinstance(value, str) and value.isascii() and 1 <= len(value) <= MAX_ID):
        raise InvalidBatch(f"id must be text of 1 to {MAX_ID} characters.")
    if not value.replace("-", "").replace("_", "a").isalnum():
        raise InvalidBatch("id must have letters, digits, _ and - only.")
    if value in earlier:
        raise InvalidBatch(f"Two calls have the id {value}.")
    return value


def _read_path(value: object) -> tuple[str, str]:
    """Return the path and the query string, percent-encoded; raise InvalidBatch."""
    if not isinstance(value, str) or not value.startswith("/") or len(value) > MAX_PATH:
        raise InvalidBatch(
            f"path must be text of at most {MAX_PATH} characters, a path below the base path that"
            " begins with /."
        )
    if not value.isprintable() or "#" in value:
        raise InvalidBatch("path must not have control characters or #.")
    path, _, query = percent_encode(value, safe=UNENCODED).partition("?")
    if any(brace in path.lower() for brace in ENCODED_BRACES):
        raise InvalidBatch("Braces in a path are for references, as in {order.id}.")
    tokens = {name for location, name, _ in token_transports.current if location == QUERY}
    if not tokens.isdisjoint(name for name, _ in parse_qsl(query, keep_blank_values=True)):
        raise InvalidBatch(
            "The calls are the batch's caller's: path must not have an access token."
        )
    return path, query


def _match(verb: str, path: str) -> tuple[Any, Mapping[str, str]]:
    """Return the rule of a path and its arguments; raise NotFound and MethodNotAllowed."""
    root = current_app.config["REST_API_ROOT"]
    routed = routed_target(f"{root}{path}", root).encode("latin-1").decode(errors="replace")
    try:
        rule, arguments = current_app.url_map.bind("").match(routed, verb, return_rule=True)
    except NotFound:
        raise _no_method(verb, path) from None
    model, _, method = rule.endpoint.partition(".")
    if method in switched_off.current.get(model, ()):
        raise _no_method(verb, path)
    return rule, arguments


def _no_method(verb: str, path: str) -> NotFound:
    return NotFound(f"There is no method to handle {verb} {quote(path)}")


def _find_subject(name: str, body: Body | list[Any] | None) -> Collection | None:
    """Return the collection of a call's rows; raise InvalidBatch for a call that may not be here.

    Those are calls that do more than read and write rows of the database.
    """
    endpoint = served_endpoints.current.get(name)
    model = name.partition(".")[0]
    if endpoint is None or not (endpoint.atomic and _is_in_database(model, endpoint)):
        raise InvalidBatch(f"{quote(name)} cannot be undone, so that no batch may have it.")
    subject = served_collections.current.get(endpoint.subject or model)
    if subject is not None and endpoint.access != READ:
        check_body(subject, body)
    return subject


def check_body(subject: Collection, body: Body | list[Any] | None) -> None:
    """Raise InvalidBatch for properties whose change a rollback would not undo."""
    rows = subject.rows
    refused = rows.irreversible if rows.hashed is None else rows.irreversible | {rows.hashed}
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, dict) and (found := refused & item.keys()):
            raise InvalidBatch(f"{min(found)} cannot be set by a batch.")


def _is_in_database(model: str, endpoint: Endpoint) -> bool:
    names = {model, endpoint.subject or model, *endpoint.answers}
    served = served_collections.current
    return all(served[name].rows.is_transactional for name in names if name in served)
