"""The header `Idempotency-Key`, and which requests are the same one, sent again.

The header is that of draft-ietf-httpapi-idempotency-key-header: a string of structured fields (RFC
9651), such as `"8e03978e"`. Many clients send the key without quotes, which is accepted, too.
"""

import json
import re
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote_plus

from flask import Request

from app.access.identity import QUERY, current_identity, token_transports
from app.ids import Id
from app.observability.origin import current_network
from app.rest.requests.bodies import read_bytes, read_items
from app.throttles import key_digest

from .errors import InvalidIdempotencyKey

# The name of the header in a request's environment.
HEADER = "HTTP_IDEMPOTENCY_KEY"
#: Maximum characters of an `Idempotency-Key`.
MAX_KEY = 255
# In quotes, where quotes and backslashes are escaped; or without quotes and commas: servers join
# repeated headers by commas (RFC 9110, 5.3).
QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
BARE = re.compile(r"[!#-+\--~](?:[ !#-+\--~]*[!#-+\--~])?")
ESCAPED = re.compile(r'\\(["\\])')
# The headers on which a change may depend.
PRECONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")


class Call(NamedTuple):
    """A request with a key, by which its repetitions are recognized; only digests are stored."""

    # Of the caller, method, path and key.
    digest: str
    # Of the body and the preconditions.
    content: str
    # None for an anonymous caller.
    user_id: Id | None


def parse_key(header: str) -> str:
    """Return the key in the header; raise InvalidIdempotencyKey."""
    # In quotes, each character may be escaped.
    text = header.strip(" \t") if len(header) <= 2 * MAX_KEY + 2 else ""
    if quoted := QUOTED.fullmatch(text):
        key = ESCAPED.sub(r"\1", quoted[1])
    elif BARE.fullmatch(text):
        key = text
    else:
        raise InvalidIdempotencyKey()
    if not 1 <= len(key) <= MAX_KEY:
        raise InvalidIdempotencyKey()
    return key


def read_call(current: Request, hashed: str | None) -> Call:
    """Return the call of a request with a key; `hashed` is the body's property with a password.

    An anonymous caller is known by network and body. Raises InvalidIdempotencyKey, and the errors
    of the body.
    """
    key = parse_key(current.environ[HEADER])
    content = _content_digest(current, key, hashed)
    user_id = current_identity().user_id
    caller = ["user", user_id] if user_id is not None else ["", current_network(), content]
    digest = key_digest(caller, current.method, current.path, _query(current), key)
    return Call(digest, content, user_id)


def _query(current: Request) -> list[str]:
    """Return the parameters of the query as sent, without access tokens."""
    transports = token_transports.current
    tokens = {transport.name for transport in transports if transport.location == QUERY}
    parameters = current.query_string.decode("latin-1").split("&")
    return [each for each in parameters if unquote_plus(each.partition("=")[0]) not in tokens]


def _content_digest(current: Request, key: str, hashed: str | None) -> str:
    """Return the digest of the body and the preconditions.

    Without the password: a fast digest of it would let those who read the database guess it.
    """
    body = read_bytes(current) if hashed is None else _without(hashed)
    preconditions = [current.environ.get(name) for name in PRECONDITIONS]
    return sha256(json.dumps([key, preconditions]).encode() + body).hexdigest()


def _without(hashed: str) -> bytes:
    """Return the body without a property of its object, or of those in its array."""
    body = read_items()
    items = body if isinstance(body, list) else [body]
    kept = [
        {name: value for name, value in item.items() if name != hashed}
        if isinstance(item, dict)
        else item
        for item in items
    ]
    return json.dumps(kept).encode()
