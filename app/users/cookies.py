"""The cookie with the access token, and which requests may set or use it."""

from typing import Any
from urllib.parse import urlsplit

from flask import Response, current_app, request

from app.errors import AccessDenied

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# Endpoints that change state whatever the method (OWASP ASVS 3.5.3).
UNSAFE_ENDPOINTS = {"users.logout"}


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


def refuse_cross_site() -> None:
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


def _cookie_name() -> str | None:
    middleware = current_app.config["TOKEN_MIDDLEWARE"]
    return middleware["cookies"][0] if middleware else None


def _cookie_flags() -> dict[str, Any]:
    secure = current_app.config["PUBLIC_URL"].startswith("https:")
    return {"httponly": True, "samesite": "Lax", "secure": secure}
