"""Match the collection segment of a path case-insensitively, as LoopBack 3 does."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class CaseInsensitiveCollections:
    """WSGI middleware: `/api/Users/7` is routed as `/api/users/7`."""

    def __init__(self, app: "WSGIApplication", root: str) -> None:
        self._app = app
        self._prefix = f"{root}/"

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Pass the request on, with the segment after the base path in lower case."""
        path = environ.get("PATH_INFO", "")
        if path.startswith(self._prefix):
            collection, slash, rest = path.removeprefix(self._prefix).partition("/")
            environ["PATH_INFO"] = f"{self._prefix}{collection.lower()}{slash}{rest}"
        return self._app(environ, start_response)
