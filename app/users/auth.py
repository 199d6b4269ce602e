"""Which access token came with a request, by which way, and whether that way may be trusted."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, g, request
from sqlalchemy import bindparam, exists, inspect, select

from app.access.policy import require_session
from app.access.roles import RoleMapping
from app.errors import AccessDenied, InvalidToken
from app.extensions import db, now

from .models import AccessToken, token_digest

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# Endpoints that change state whatever the method (OWASP ASVS 3.5.3).
UNSAFE_ENDPOINTS = {"users.logout"}

# Of tables instead of entities, and for two candidates instead of any number: every request with
# a token runs this, and it takes less than half the time so.
TOKENS, HOLDERS = inspect(AccessToken).columns, inspect(RoleMapping).columns
TOKEN_QUERY = select(
    TOKENS.digest,
    TOKENS.user_id,
    TOKENS.scope,
    TOKENS.expires_at,
    # Nearly nobody holds a role, and then nobody needs to look which.
    exists().where(HOLDERS.user_id == TOKENS.user_id).label("has_roles"),
).where(TOKENS.digest.in_([bindparam("first"), bindparam("last")]))


def init_app(app: Flask) -> None:
    """Resolve the token of every request before its view runs."""
    app.before_request(resolve_access_token)


def resolve_access_token() -> None:
    """Set `g.access_token` to the request's live token or None, with at most one query.

    When it is None because the token cannot be used any more, `g.token_error` says so to the
    endpoints that need one. Raises AccessDenied for a cookie that another site made travel.
    """
    g.access_token = g.token_error = None
    candidates, by_cookie = _presented()
    if candidates:
        g.access_token = _live(candidates)
    if by_cookie and g.access_token is not None:
        _refuse_cross_site()
    _put_current_user()


def set_cookie(response: Response, token: str, ttl: float) -> None:
    """Give the browser the token as a cookie, if the token middleware is switched on.

    Not when another site's page made it log in: that would log it in as somebody else.
    """
    if (name := _cookie_name()) and _comes_from_own_site() is not False:
        response.set_cookie(name, token, max_age=int(ttl), **_cookie_flags())


def clear_cookie(response: Response) -> None:
    """Take the cookie back."""
    if name := _cookie_name():
        response.delete_cookie(name, **_cookie_flags())


def _presented() -> tuple[list[str], bool]:
    """Return what the token could be, from the first place that has one, and if it is a cookie."""
    middleware = current_app.config["TOKEN_MIDDLEWARE"] or {}
    if header := _header("Authorization"):
        return list(_from_authorization(header)), False
    for name in ("X-Access-Token", *middleware.get("headers", ())):
        if header := _header(name):
            return [header], False
    for name in ("access_token", *middleware.get("params", ())):
        if value := _single(request.args.getlist(name)):
            return _from_query(value), False
    for name in middleware.get("cookies", ()):
        if value := _single(request.cookies.getlist(name)):
            return [value], True
    return [], False


def _header(name: str) -> str | None:
    """Return a header that was given once: the server joins several by commas (RFC 9110 5.3)."""
    value = request.headers.get(name, "")
    return None if "," in value else value


def _single(values: list[str]) -> str | None:
    """Return the value that was given once; several leave open which one is meant."""
    return values[0] if len(values) == 1 else None


def _from_authorization(header: str) -> Iterator[str]:
    """Yield the token as it is, as `Bearer`, as `Bearer` in base64, and as part of `Basic`."""
    scheme, _, rest = header.partition(" ")
    match scheme.lower():
        case "bearer":
            yield rest.strip()
            yield from filter(None, [_decoded(rest)])
        case "basic":
            yield from filter(None, _decoded(rest).split(":", 1))
        case _:
            yield header


def _from_query(value: str) -> list[str]:
    if current_app.config["TOKEN_IN_QUERY"]:
        return [value]
    g.token_error = InvalidToken("Access tokens are not accepted in the query string.")
    return []


def _decoded(text: str) -> str:
    """Return what base64 text says, or nothing when it is none."""
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _live(candidates: list[str]) -> Any:
    """Return the row of the token that one of the candidates is, unless it has expired."""
    digests = [token_digest(candidate) for candidate in candidates]
    row = db.session.execute(TOKEN_QUERY, {"first": digests[0], "last": digests[-1]}).first()
    if row is not None and row.expires_at <= now():
        g.token_error = InvalidToken()
        return None
    return row


def _refuse_cross_site() -> None:
    """Raise AccessDenied for a change that no page of this site asked for."""
    if request.method in SAFE_METHODS and request.endpoint not in UNSAFE_ENDPOINTS:
        return
    if not _comes_from_own_site():
        raise AccessDenied("A request with a cookie must come from this site.")


def _comes_from_own_site() -> bool | None:
    """Tell whether a page of this site sent the request; None if it was no browser.

    By Fetch Metadata, and by Origin where there is none (OWASP CSRF Prevention Cheat Sheet).
    """
    if (site := request.headers.get("Sec-Fetch-Site")) is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("Origin")
    return None if origin is None else origin == _own_origin()


def _own_origin() -> str:
    parts = urlsplit(current_app.config["PUBLIC_URL"])
    return f"{parts.scheme}://{parts.netloc}"


def _put_current_user() -> None:
    """Let the current-user literal stand where a user id goes."""
    middleware = current_app.config["TOKEN_MIDDLEWARE"] or {}
    literal = middleware.get("currentUserLiteral")
    arguments = request.view_args or {}
    if literal and request.blueprint == "users" and arguments.get("id") == literal:
        arguments["id"] = str(require_session().user_id)


def _cookie_name() -> str | None:
    middleware = current_app.config["TOKEN_MIDDLEWARE"]
    return middleware["cookies"][0] if middleware else None


def _cookie_flags() -> dict[str, Any]:
    secure = current_app.config["PUBLIC_URL"].startswith("https:")
    return {"httponly": True, "samesite": "Lax", "secure": secure}
