"""Counting requests, as WSGI middleware around everything else."""

from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from app.observability.origin import ROUTE
from app.rest.endpoint import ASKS_FOR_UPLOAD

from .catalog import Catalog

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The label for other methods, and for paths without a route: clients can send any number of them.
UNKNOWN = "unknown"


class RequestCounter:
    """Counts each request by the declared route, method and status."""

    def __init__(self, app: "WSGIApplication", catalog: Catalog) -> None:
        self._app = app
        self._catalog = catalog

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Call the app, and count the request after its response."""
        status = "500"
        started = perf_counter()

        def start(status_line: str, *args: Any) -> Any:
            nonlocal status
            status = status_line[:3]
            return start_response(status_line, *args)

        try:
            return self._app(environ, start)
        finally:
            self._count(environ, status, perf_counter() - started)

    def _count(self, environ: "WSGIEnvironment", status: str, seconds: float) -> None:
        if ASKS_FOR_UPLOAD in environ:
            # The request itself follows.
            return
        method = environ["REQUEST_METHOD"]
        if method not in METHODS:
            method = UNKNOWN
        rule = environ.get(ROUTE)
        route = UNKNOWN if rule is None else rule.rule
        self._catalog.requests.labels(method, route, status).inc()
        self._catalog.request_seconds.labels(method, route).observe(seconds)
