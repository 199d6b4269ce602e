"""Who is calling: the access token of a request, resolved once, and read by one function."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from flask import Flask, g
from werkzeug.exceptions import HTTPException

from app.errors import AuthorizationRequired

from .roles import roles_of


class LiveToken(NamedTuple):
    """An access token that has not expired, as the database has it."""

    digest: str
    user_id: int
    # None for a login; anything else opens only what asks for that scope.
    scope: str | None
    created: datetime
    expires_at: datetime
    # Whether the user holds any role; most hold none, and then no query looks for them.
    has_roles: bool


# Where in a request a token may stand, under OpenAPI's names.
HEADER, QUERY, COOKIE = "header", "query", "cookie"


class TokenTransport(NamedTuple):
    """A place of a request where an access token may stand."""

    place: str
    name: str
    description: str = ""


@dataclass(frozen=True)
class Identity:
    """The caller of a request: the token that was presented, or why it cannot be used."""

    token: LiveToken | None = None
    problem: HTTPException | None = None

    @property
    def session(self) -> LiveToken | None:
        """The token, if a login issued it; None for an anonymous caller."""
        return self.token if self.token is not None and self.token.scope is None else None

    @property
    def user_id(self) -> int | None:
        """The id of the user who is logged in; None for an anonymous caller."""
        session = self.session
        return None if session is None else session.user_id

    @cached_property
    def roles(self) -> frozenset[str]:
        """The names of the roles that the user holds, read at most once per request."""
        session = self.session
        return (
            frozenset(roles_of(session.user_id)) if session and session.has_roles else frozenset()
        )

    def require_session(self) -> LiveToken:
        """Return the token of a login; raise 401 when there is none."""
        if self.session is None:
            raise self.unauthorized()
        return self.session

    def require_scope(self, scope: str) -> LiveToken:
        """Return the token; raise 401 unless it has this scope."""
        if self.token is None or self.token.scope != scope:
            raise self.unauthorized()
        return self.token

    def unauthorized(self) -> HTTPException:
        """Return the 401 that tells this caller what is missing."""
        return self.problem or AuthorizationRequired()


ANONYMOUS = Identity()


def set_identity(identity: Identity) -> None:
    """Say who is calling; the token also stands in `g.access_token`, a token or None."""
    g.identity = identity
    g.access_token = identity.token


def current_identity() -> Identity:
    """Return who is calling."""
    identity: Identity = g.identity
    return identity


def token_transports(app: Flask) -> list[TokenTransport]:
    """Return the places where an app looks for access tokens, in their order."""
    transports: list[TokenTransport] = app.extensions["token_transports"]
    return transports
