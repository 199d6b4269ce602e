"""Token transports: the parts of a request that may contain its access token."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from flask import Flask, after_this_request, current_app, request
from sqlalchemy import bindparam, exists, inspect, or_, select, type_coerce
from sqlalchemy.types import NullType

from app.access.identity import (
    ANONYMOUS,
    COOKIE,
    HEADER,
    QUERY,
    Identity,
    TokenTransport,
    current_identity,
    set_identity,
    token_transports,
)
from app.access.policy import principal_types
from app.access.roles import RoleMapping
from app.database.statements import PreparedStatement
from app.errors import InvalidToken
from app.observability.origin import note_caller
from app.state import AppState
from app.times import now
from app.users.models import AccessToken, User, token_digest

from .cookies import ignores_cookie, refuse_cross_site, renew_cookie
from .tokens import SlidingToken, prolong

# Prefix of personal tokens, so that secret scanners find them; no other token contains a `_`.
PERSONAL_PREFIX = "ost_"
PREFIX_LENGTH = len(PERSONAL_PREFIX)
# A transport, and the function that reads it.
Reader = tuple[TokenTransport, Callable[[], str | None]]

AUTHORIZATION = TokenTransport(
    HEADER, "Authorization", "The access token itself, which `users.login` answers as `id`."
)

# Core columns and a fixed two-value condition: half the cost of the ORM form, on every request.
TOKENS, ROLE_MAPPINGS = inspect(AccessToken).columns, inspect(RoleMapping).columns
USERS = inspect(User).columns
# The columns of a LiveToken.
COLUMNS = (
    TOKENS.digest,
    TOKENS.user_id,
    TOKENS.scope,
    TOKENS.created,
    TOKENS.expires_at,
    TOKENS.methods,
    TOKENS.write_position,
    # Most users have no role; then the roles are not queried.
    exists().where(ROLE_MAPPINGS.user_id == TOKENS.user_id).label("has_roles"),
)
TOKEN = select(*COLUMNS).where(
    or_(TOKENS.digest == bindparam("first"), TOKENS.digest == bindparam("last"))
)
TOKEN_QUERY = PreparedStatement(TOKEN)
# With the columns that decide whether to prolong the token. All drivers return floats as such;
# SQLAlchemy's own conversion would need a cursor.
TTL = type_coerce(TOKENS.ttl, NullType).label("ttl")
SLIDING_TOKEN = TOKEN.add_columns(TTL, TOKENS.last_used, TOKENS.remember_me)
SLIDING_TOKEN_QUERY = PreparedStatement(SLIDING_TOKEN)
# With the model of the user, if the app has several.
OF_USER = USERS.id.table, USERS.id == TOKENS.user_id
TYPED_TOKEN_QUERY, SLIDING_TYPED_QUERY = (
    PreparedStatement(query.add_columns(USERS.principal_type).join(*OF_USER))
    for query in (TOKEN, SLIDING_TOKEN)
)


# Returns the identity of a caller with a personal token; set if personal tokens are enabled.
Identify = Callable[[TokenTransport, str], Identity]
identify_personal = AppState[Identify](
    "personal tokens", factory=lambda _app: lambda _transport, _value: ANONYMOUS
)


class TokenReader:
    """How an app reads tokens: the parts of requests, and the statement that looks them up."""

    def __init__(self, readers: Sequence[Reader], is_sliding: bool) -> None:
        """Read tokens of users of one model."""
        self.readers = readers
        self._is_sliding = is_sliding
        self.query = SLIDING_TOKEN_QUERY if is_sliding else TOKEN_QUERY
        # Whether the statement also reads the model of the user.
        self.reads_type = False

    def read_types(self) -> None:
        """Read the model of the user with each token: the app has several models of users."""
        self.reads_type = True
        self.query = SLIDING_TYPED_QUERY if self._is_sliding else TYPED_TOKEN_QUERY


token_reader = AppState[TokenReader]("token reader")
# The function that resolves the token before each request; the calls of a batch share the result.
resolver = AppState[Callable[[], None]]("token resolver")


def init_app(app: Flask) -> None:
    """Resolve the access token before every request."""
    transports = list(_transports(app.config["TOKEN_MIDDLEWARE"] or {}))
    token_transports.set(app, transports)
    is_sliding = app.config["TOKEN_SLIDING"]
    resolve = resolve_sliding_token if is_sliding else resolve_access_token
    reader = TokenReader([(each, _reader(each)) for each in transports], is_sliding)
    token_reader.set(app, reader)
    resolver.set(app, app.before_request(partial(resolve, reader)))
    if literal := (app.config["TOKEN_MIDDLEWARE"] or {}).get("currentUserLiteral"):
        app.before_request(partial(_replace_user_literal, literal))


def resolve_access_token(reader: TokenReader) -> None:
    """Set the identity of the request from its access token, with at most one query.

    Raises AccessDenied for a cross-site request with a cookie.
    """
    transport, value = _find_token(reader.readers)
    identity = ANONYMOUS if transport is None else _identify(transport, value, reader)
    is_in_cookie = transport is not None and transport.location == COOKIE
    if is_in_cookie and ignores_cookie():
        identity = ANONYMOUS
    set_identity(identity)
    note_caller(identity.user_id)
    if is_in_cookie and identity.token is not None:
        refuse_cross_site()


def resolve_sliding_token(reader: TokenReader) -> None:
    """Set the identity as `resolve_access_token` does, and prolong a login's token.

    If the token came in a cookie, the response renews the cookie.
    """
    resolve_access_token(reader)
    identity = current_identity()
    session = cast("SlidingToken | None", identity.session)
    if session is None or not (expires_at := prolong(session, identity.principal_type)):
        return
    transport, value = _find_token(reader.readers)
    if transport is not None and transport.location == COOKIE:
        seconds = (expires_at - now()).total_seconds()
        after_this_request(
            partial(renew_cookie, transport.name, value, seconds, session.remember_me)
        )


def token_look_up() -> Callable[[], Identity]:
    """Return a function that looks up the request's token anew, also after the request.

    It returns an anonymous caller if the request's was one.
    """
    reader, identity = token_reader.current, current_identity()
    transport, value = _find_token(reader.readers)
    if transport is None or identity.token is None:
        return lambda: ANONYMOUS
    # No partial, whose representation would have the token.
    return lambda: _identify(transport, value, reader)


def _transports(middleware: Mapping[str, list[str]]) -> Iterator[TokenTransport]:
    """Yield the transports in order of precedence; the first with a value is used."""
    yield AUTHORIZATION
    for name in ("X-Access-Token", *middleware.get("headers", ())):
        yield TokenTransport(HEADER, name)
    for name in ("access_token", *middleware.get("params", ())):
        yield TokenTransport(QUERY, name)
    for name in middleware.get("cookies", ()):
        yield TokenTransport(COOKIE, name)


def _reader(transport: TokenTransport) -> Callable[[], str | None]:
    """Return the function that reads a transport of the current request."""
    if transport.location == HEADER:
        return partial(_header, f"HTTP_{transport.name.upper().replace('-', '_')}")
    return partial(_query if transport.location == QUERY else _cookie, transport.name)


def _find_token(readers: Sequence[Reader]) -> tuple[TokenTransport | None, str]:
    """Return the first transport with a value, and the value."""
    for transport, read in readers:
        if value := read():
            return transport, value
    return None, ""


def _header(key: str) -> str | None:
    """Return a header unless it is repeated, which servers join by commas (RFC 9110 5.3)."""
    value: str = request.environ.get(key, "")
    return None if "," in value else value


def _query(name: str) -> str | None:
    return _single(request.args.getlist(name))


def _cookie(name: str) -> str | None:
    return _single(request.cookies.getlist(name))


def _single(values: list[str]) -> str | None:
    """Return the only value; repeated values are ambiguous and count as absent."""
    return values[0] if len(values) == 1 else None


def _identify(transport: TokenTransport, value: str, reader: TokenReader) -> Identity:
    """Return the identity of the caller with this token."""
    if transport.location == QUERY and not current_app.config["TOKEN_IN_QUERY"]:
        return Identity(error=InvalidToken("Access tokens are not accepted in the query string."))
    candidates = _tokens_in_authorization(value) if transport is AUTHORIZATION else [value]
    for candidate in candidates:
        # Not by `startswith`, which would add a call to every request.
        if candidate[:PREFIX_LENGTH] == PERSONAL_PREFIX:
            return identify_personal.current(transport, candidate)
    digests = [*map(token_digest, candidates)]
    row = reader.query.first({"first": digests[0], "last": digests[-1]}) if digests else None
    if row is None:
        return ANONYMOUS
    if row.expires_at <= now():
        return Identity(None, InvalidToken(), transport)
    if reader.reads_type:
        return Identity(row, None, transport, principal_type=row.principal_type)
    return Identity(row, None, transport)


def _tokens_in_authorization(header: str) -> list[str]:
    """Return the possible tokens in the header: plain, `Bearer` (also base64) or in `Basic`."""
    if " " not in header:
        return [header]
    scheme, _, rest = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return [rest.strip(), *filter(None, [_decode_base64(rest)])]
        case "basic":
            return [*filter(None, _decode_base64(rest).split(":", 1))]
        case _:
            return [header]


def _decode_base64(text: str) -> str:
    """Decode base64 text; return "" if it is invalid."""
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _replace_user_literal(literal: str) -> None:
    """Replace the current-user literal in a path by the caller's id."""
    arguments = request.view_args or {}
    # The preflight of a page of another origin has no token (Fetch 4.8).
    is_preflight = request.method == "OPTIONS"
    if (
        request.blueprint in principal_types.current
        and arguments.get("id") == literal
        and not is_preflight
    ):
        arguments["id"] = str(current_identity().require_user())
