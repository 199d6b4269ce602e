"""Recognizing requests that compute a password hash before a thread takes them."""

from io import BytesIO
from urllib.parse import unquote_to_bytes

from flask import Flask

from app.rest.hashing import hashing_views
from app.rest.routing import routed_path

from .incoming import BufferedRequest

# Characters by which a property's name may be written differently, in JSON and in forms.
ESCAPES = b"\\u", b"%"


class HashCalls:
    """Recognizes requests as the app routes them."""

    def __init__(self, app: Flask) -> None:
        self._views = hashing_views(app)
        self._routes = app.url_map.bind("")
        self._root = app.config["REST_API_ROOT"]
        self._proxies = app.config["TRUSTED_PROXIES"]
        rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint in self._views]
        # Flask answers OPTIONS itself.
        self._verbs = set().union(*(rule.methods or () for rule in rules)) - {"OPTIONS"}

    def includes(self, request: BufferedRequest) -> bool:
        """Return True if gunicorn's request, with a complete body, computes a password hash."""
        if request.method not in self._verbs or not isinstance(request.body, BytesIO):
            return False
        hashed, body = self._hashed_property(request.method, request.path), request.body.getvalue()
        return hashed is not None and any(part in body for part in (hashed.encode(), *ESCAPES))

    def client(self, request: BufferedRequest) -> str:
        """Return the network of a request's client, as counted by throttles."""
        return request.network(self._proxies)

    def _hashed_property(self, verb: str, path: str) -> str | None:
        """Return the value of `hashing_views` for the view of a verb and path."""
        given = unquote_to_bytes(path).decode("latin-1")
        routed = routed_path(given, path, self._root).encode("latin-1")
        try:
            name, _ = self._routes.match(routed.decode(errors="replace"), method=verb)
        except Exception:  # the app answers whatever its router raises, also for want of a route
            return None
        return self._views.get(name)
