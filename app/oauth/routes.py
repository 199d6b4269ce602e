"""Routes of a provider: those of logins, and those that add identities."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Where LoopBack 3 leads without `successRedirect`.
LOGIN_SUCCESS, LINK_SUCCESS = "/auth/account", "/link/account"


@dataclass(frozen=True)
class ProviderRoute:
    """The paths of a login or of adding an identity, and the redirects at its end."""

    path: str
    callback_path: str
    success_redirect: str
    # None: a failure is answered as an error.
    failure_redirect: str | None
    # Whether the failure redirect gets the error's code in its query.
    names_error: bool
    # Whether the answer is JSON, without redirect and cookies.
    json: bool

    @property
    def token_path(self) -> str:
        """Where apps log in with an ID token, at a provider of OpenID Connect."""
        return f"{self.path}/token"


def find_routes(
    name: str, entry: Mapping[str, Any], linked: set[str]
) -> tuple[ProviderRoute | None, ProviderRoute | None]:
    """Return the routes of an entry: that of logins, and that of adding identities."""
    provider = entry["provider"] or name
    login = None if entry["link"] else _login_route(name, entry)
    links_itself = entry["link"] or provider not in linked
    return login, _link_route(provider, entry) if links_itself else None


def served_paths(
    entry: Mapping[str, Any], login: ProviderRoute | None, link: ProviderRoute | None
) -> Iterator[str]:
    """Yield the paths that an entry is served at."""
    for route in filter(None, (login, link)):
        yield route.path
        yield route.callback_path.rstrip("/")
    if login and entry["preset"].is_openid:
        yield login.token_path


def _path(entry: Mapping[str, Any], default: str) -> str:
    """Return where a login begins; unlike the callback path no provider knows it to the letter."""
    return str(entry["authPath"] or default).rstrip("/")


def _login_route(name: str, entry: Mapping[str, Any]) -> ProviderRoute:
    path = _path(entry, f"/auth/{name}")
    callback = entry["callbackPath"] or f"{path}/callback"
    return _route(path, callback, LOGIN_SUCCESS, entry)


def _link_route(provider: str, entry: Mapping[str, Any]) -> ProviderRoute:
    """Return where an identity is added: for an entry with `link` the paths that it names."""
    if entry["link"]:
        path = _path(entry, f"/link/{provider}")
        callback = entry["callbackPath"] or entry["linkCallbackPath"] or f"{path}/callback"
        return _route(path, callback, LINK_SUCCESS, entry)
    path = f"/link/{provider}"
    callback = entry["linkCallbackPath"] or f"{path}/callback"
    return _route(path, callback, LINK_SUCCESS, {**entry, "json": False})


def _route(path: str, callback: str, success: str, entry: Mapping[str, Any]) -> ProviderRoute:
    return ProviderRoute(
        path,
        callback,
        entry["successRedirect"] or success,
        entry["failureRedirect"],
        entry["failureQueryString"],
        entry["json"],
    )
