"""The access token cookie, and its protection against cross-site requests."""

from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, current_app, request

from app.errors import AccessDenied
from app.rest.endpoint import SAFE_VERBS, served_endpoints
from app.settings import CROSS_SITE
from app.state import AppState

# The cookie with the ticket of a login by a provider or by mail that requires a second step.
SECOND_STEP_COOKIE = "second_step"
# The cookie with the user's id after a login by an identity provider.
USER_ID_COOKIE = "userId"
# The calls by which users begin, and which do without a cookie.
CALLS_WITHOUT_COOKIE = ("users.login", "users.create", "users.resetPassword")
# The names of the blueprints of pages that mails link to.
_mailed_pages = AppState[set[str]]("pages that mails link to", factory=lambda _app: set())


def serve_mailed_pages(app: Flask, pages: Blueprint) -> None:
    """Serve pages that mails link to; their forms are not checked for the site that sends them.

    The forms do not depend on the access token cookie. Browsers send them with `Origin: null`,
    because the pages send no referrer.
    """
    app.register_blueprint(pages)
    _mailed_pages.of(app).add(pages.name)


def set_cookie(response: Response, token: str, ttl: float, remember_me: bool) -> None:
    """Set the cookie if the token middleware is enabled.

    With `remember_me` it lasts for `ttl` seconds, else until the browser is closed. A cross-site
    login sets no cookie, against login CSRF; neither does one by a client that is no browser, whose
    requests with the cookie would be refused.
    """
    if (name := _cookie_name()) and _is_same_site():
        _set(response, name, token, ttl, remember_me)


def set_login_flow_cookie(response: Response, name: str, value: str, seconds: int) -> None:
    """Set a cookie of a pending login; a cross-site request sets none, against login CSRF."""
    if _is_same_site() is not False:
        response.set_cookie(name, value, max_age=seconds, **cookie_flags())


def clear_login_flow_cookie(response: Response, name: str) -> None:
    """Delete a cookie of a finished login."""
    response.delete_cookie(name, **cookie_flags())


def set_second_step_cookie(response: Response, ticket: str) -> None:
    """Let this browser finish its login; the caller checks that the browser began it."""
    response.set_cookie(SECOND_STEP_COOKIE, ticket, **cookie_flags())


def set_login_cookies(response: Response, token: str, user_id: object, ttl: float) -> None:
    """Set the cookie, and one with the user's id that scripts can read, as in LoopBack 3.

    Also for a request from another site: the caller checks that this browser began the login.
    """
    if name := _cookie_name():
        _set(response, name, token, ttl, remember_me=True)
        _set_user_id(response, user_id, ttl)


def renew_cookie(
    name: str, token: str, ttl: float, remember_me: bool, response: Response
) -> Response:
    """Set the cookie in which a request presented its token again, unless the view set cookies.

    A view sets cookies for a login or logout.
    """
    if "Set-Cookie" not in response.headers:
        _set(response, name, token, ttl, remember_me)
        if user_id := request.cookies.get(USER_ID_COOKIE):
            _set_user_id(response, user_id, ttl)
    return response


def clear_cookie(response: Response) -> None:
    """Delete the cookie, and the one with the user's id if it exists."""
    if name := _cookie_name():
        response.delete_cookie(name, **cookie_flags())
        if USER_ID_COOKIE in request.cookies:
            response.delete_cookie(USER_ID_COOKIE, **_user_id_flags())


def ignores_cookie() -> bool:
    """Return True if a client that is no browser makes a call that needs no token.

    Such clients may keep cookies without the user's knowledge.
    """
    return request.endpoint in CALLS_WITHOUT_COOKIE and _is_same_site() is None


def refuse_cross_site() -> None:
    """Raise AccessDenied for an unsafe request that does not come from this site.

    With COOKIE_SAMESITE "None" also for a safe one, unless it opens a page: with "Lax", browsers
    send it without the cookie.
    """
    if request.blueprint in _mailed_pages.current:
        return
    is_sent_by_all = current_app.config["COOKIE_SAMESITE"] == CROSS_SITE
    if not _is_safe() or (is_sent_by_all and _is_same_site() is False and not _opens_page()):
        require_same_site()


def require_same_site() -> None:
    """Raise AccessDenied for a request known not to come from this site."""
    if not _is_same_site():
        raise AccessDenied(
            f"A request with a cookie must come from a page of PUBLIC_URL, {_own_origin()}, or of"
            " CORS_ORIGINS; localhost and 127.0.0.1 are different."
        )


def cookie_path() -> str:
    """Return the path of PUBLIC_URL: other applications on its host do not get the cookies."""
    return urlsplit(current_app.config["PUBLIC_URL"]).path or "/"


def cookie_flags(path: str | None = None) -> dict[str, Any]:
    """Return the attributes of every cookie, by default for the path of PUBLIC_URL."""
    secure, where = has_secure_cookies(), path or cookie_path()
    same_site = current_app.config["COOKIE_SAMESITE"]
    return {"httponly": True, "samesite": same_site, "secure": secure, "path": where}


def has_secure_cookies() -> bool:
    """Return True if browsers send the cookies by https only, as PUBLIC_URL is."""
    return bool(current_app.config["PUBLIC_URL"].startswith("https:"))


def _set(response: Response, name: str, token: str, ttl: float, remember_me: bool) -> None:
    max_age = int(ttl) if remember_me else None
    response.set_cookie(name, token, max_age=max_age, **cookie_flags())


def _set_user_id(response: Response, user_id: object, ttl: float) -> None:
    response.set_cookie(USER_ID_COOKIE, str(user_id), max_age=int(ttl), **_user_id_flags())


def _user_id_flags() -> dict[str, Any]:
    return {**cookie_flags(), "httponly": False}


def _is_safe() -> bool:
    """Return True if the request changes nothing (OWASP ASVS 3.5.3)."""
    endpoint = served_endpoints.current.get(request.endpoint or "")
    return request.method in SAFE_VERBS if endpoint is None else endpoint.is_safe(request.method)


def _opens_page() -> bool:
    """Return True if the browser opens the URL in a tab, as from a link."""
    headers = request.headers
    modes = headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")
    return modes == ("navigate", "document")


def _is_same_site() -> bool | None:
    """Return True if the request comes from this site; None if a non-browser client sent it.

    Uses Fetch Metadata, else the Origin header (OWASP CSRF Prevention Cheat Sheet). Pages of
    CORS_ORIGINS count as this site's.
    """
    if request.headers.get("Origin") in current_app.config["CORS_ORIGINS"]:
        return True
    if (site := request.headers.get("Sec-Fetch-Site")) is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("Origin")
    return None if origin is None else origin == _own_origin()


def _own_origin() -> str:
    parts = urlsplit(current_app.config["PUBLIC_URL"])
    return f"{parts.scheme}://{parts.netloc}"


def _cookie_name() -> str | None:
    middleware = current_app.config["TOKEN_MIDDLEWARE"]
    return middleware["cookies"][0] if middleware else None
