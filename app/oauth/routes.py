"""Routes of a provider: for logins, and for adding identities."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# A provider's settings, by LoopBack 3's names.
Entry = Mapping[str, Any]

# LoopBack 3's default of `successRedirect`.
LOGIN_SUCCESS, LINK_SUCCESS = "/auth/account", "/link/account"


@dataclass(frozen=True)
class ProviderRoute:
    """The paths of a login or of adding an identity, and the redirects when it is finished."""

    path: str
    callback_path: str
    success_redirect: str
    # None: a failure is answered as an error.
    failure_redirect: str | None
    # Whether the failure redirect has the error's code in its query.
    names_error: bool
    # Whether the response is JSON, without redirect and cookies.
    json: bool

    @property
    def token_path(self) -> str:
        """The path at which apps log in with an ID token of an OpenID Connect provider."""
        return f"{self.path}/token"


def find_routes(
    name: str, entry: Entry, linked: set[str]
) -> tuple[ProviderRoute | None, ProviderRoute | None]:
    """Return an entry's routes: one for logins, and one for adding identities."""
    provider = entry["provider"] or name
    login = None if entry["link"] else _login_route(name, entry)
    links_itself = entry["link"] or provider not in linked
    return login, _link_route(provider, entry) if links_itself else None


def served_paths(
    entry: Entry, login: ProviderRoute | None, link: ProviderRoute | None
) -> Iterator[str]:
    """Yield the paths at which an entry is served."""
    for route in filter(None, (login, link)):
        yield route.path
        yield route.callback_path.rstrip("/")
    if login and entry["preset"].is_openid:
        yield login.token_path


def _login_route(name: str, entry: Entry) -> ProviderRoute:
    path = entry["authPath"] or f"/auth/{name}"
    return _route(path, entry["callbackPath"], LOGIN_SUCCESS, entry)


def _link_route(provider: str, entry: Entry) -> ProviderRoute:
    """Return the route for adding identities; an entry with `link` sets its paths."""
    path, callback = f"/link/{provider}", entry["linkCallbackPath"]
    if not entry["link"]:
        return _route(path, callback, LINK_SUCCESS, {**entry, "json": False})
    callback = entry["callbackPath"] or callback
    return _route(entry["authPath"] or path, callback, LINK_SUCCESS, entry)


def _route(path: str, callback: str | None, success: str, entry: Entry) -> ProviderRoute:
    # Unlike the callback path, it need not be registered exactly at any provider.
    path = path.rstrip("/")
    return ProviderRoute(
        path,
        callback or f"{path}/callback",
        entry["successRedirect"] or success,
        entry["failureRedirect"],
        entry["failureQueryString"],
        entry["json"],
    )
