"""The identity of the caller: set once per request from its access token."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import NamedTuple

from flask import g
from werkzeug.exceptions import HTTPException

from app.errors import AuthorizationRequired, InsufficientScope
from app.ids import Id
from app.state import AppState

from .roles import role_names
from .rules import STRONG, MethodRules

# The authentication methods of a session whose user proved several factors (RFC 8176, 2). A passkey
# whose device verified its user counts as two: the device, and what unlocks it.
MULTI_FACTOR = "mfa"
# The parts of a request that may contain a token, by OpenAPI's names.
HEADER, QUERY, COOKIE = "header", "query", "cookie"
# The word for all methods of a model, and the prefix of words that exclude methods.
EVERY_METHOD, EXCEPT = "*", "!"


class LiveToken(NamedTuple):
    """The row of a live access token."""

    digest: str
    user_id: Id
    # None for a login. A token with a scope, such as a mailed one, is only valid for endpoints that
    # require this scope. The scopes of a personal token are in the identity's `scopes`.
    scope: str | None
    created: datetime
    expires_at: datetime
    # How the session was authenticated, joined by commas; None if that is not known.
    methods: str | None
    # The log position that a standby must have replayed to answer this caller's reads; None if the
    # caller has not written.
    write_position: int | None
    # Whether the user has any role; if not, the roles are not queried.
    has_roles: bool


class TokenTransport(NamedTuple):
    """A header, query parameter or cookie that may contain an access token."""

    location: str
    name: str
    description: str = ""


# Where an app looks for tokens, in order of precedence.
token_transports = AppState[Sequence[TokenTransport]]("token transports")


def is_strong(session: LiveToken) -> bool:
    """Return True if the user proved several factors, or used a passkey that verified the user."""
    return MULTI_FACTOR in (session.methods or "").split(",")


@dataclass(frozen=True)
class Scopes:
    """Words by the name of a model: access types, names of methods, or `*`.

    A word with the prefix `!` excludes its methods. Scopes never permit more than the user may do.
    """

    words: Mapping[str, Collection[str]]

    def cover(self, model: str, method: str, access: str) -> bool:
        """Return True if the scopes include a method of a model, by its name or its access type."""
        words = self.words.get(model, ())
        if f"{EXCEPT}{method}" in words or f"{EXCEPT}{access}" in words:
            return False
        return method in words or access in words or EVERY_METHOD in words


@lru_cache(maxsize=256)
def read_scopes(text: str) -> Scopes:
    """Return the scopes stored as JSON."""
    return Scopes(json.loads(text))


def write_scopes(words: Mapping[str, Collection[str]]) -> str:
    """Return the scopes as JSON to store."""
    return json.dumps({model: sorted(named) for model, named in sorted(words.items())})


@dataclass(frozen=True)
class Identity:
    """The caller of a request: the presented token, or the error if it is invalid.

    `user_id` is None for an anonymous caller, and `roles` has the names of the user's roles.
    """

    token: LiveToken | None = None
    error: HTTPException | None = None
    # The part of the request that contained a known token.
    transport: TokenTransport | None = None
    # The methods that a personal token may call; None for every other caller.
    scopes: Scopes | None = None
    # The model of the user, if the app has several models of users; empty for the first one.
    principal_type: str = ""

    @property
    def session(self) -> LiveToken | None:
        """The token of a login; None for other callers, such as anonymous ones."""
        return self.token if self.token is not None and self.token.scope is None else None

    @property
    def user_id(self) -> Id | None:
        """The id of the logged-in user, or of a personal token's; None for anonymous callers."""
        token = self.token
        if token is None or (token.scope is not None and self.scopes is None):
            return None
        return token.user_id

    @property
    def is_strong(self) -> bool:
        """Whether the caller has a strong session."""
        return self.session is not None and is_strong(self.session)

    @cached_property
    def roles(self) -> frozenset[str]:
        """The names of the user's roles, queried at most once per request."""
        user_id = self.user_id
        if user_id is None or self.token is None or not self.token.has_roles:
            return frozenset()
        return frozenset(role_names(user_id))

    def roles_for(self, rules: MethodRules) -> frozenset[str]:
        """Return those of the caller's roles that rules depend on, with STRONG."""
        roles = self.roles & rules.roles if rules.roles else frozenset()
        if rules.depends_on_strength and self.is_strong:
            roles |= {STRONG}
        return roles

    def require_user(self) -> Id:
        """Return the id of the user, also of a personal token; raise 401 for anonymous callers."""
        if self.user_id is None:
            raise self.unauthorized()
        return self.user_id

    def require_session(self) -> LiveToken:
        """Return the token of a login; raise 401 if anonymous, 403 for a personal token."""
        if self.session is None:
            raise InsufficientScope() if self.scopes is not None else self.unauthorized()
        return self.session

    def require_scope(self, scope: str) -> LiveToken:
        """Return the token; raise 401 unless it has this scope."""
        if self.token is None or self.token.scope != scope:
            raise self.unauthorized()
        return self.token

    def unauthorized(self) -> HTTPException:
        """Return the 401 error for this caller."""
        return self.error or AuthorizationRequired()


ANONYMOUS = Identity()


def set_identity(identity: Identity) -> None:
    """Set the identity of the request."""
    # The object behind the proxy, since every use of a proxy costs several calls.
    g._get_current_object().identity = identity


def current_identity() -> Identity:
    """Return the caller of the current request, or an anonymous one outside of requests.

    Example::

        user_id = current_identity().require_session().user_id
    """
    try:
        identity: Identity = g.identity
    # Without a caller, or outside of an app context.
    except (AttributeError, RuntimeError):
        return ANONYMOUS
    return identity
