"""Routes: the collection segment of a path is matched case-insensitively, as LoopBack 3 does."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from werkzeug.routing import Rule

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class CaseInsensitiveCollections:
    """WSGI middleware: `/api/Users/7` is routed as `/api/users/7`."""

    def __init__(self, app: "WSGIApplication", root: str) -> None:
        self._app = app
        self._root = root

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Pass the request on, with the segment after the base path in lower case."""
        environ["PATH_INFO"] = with_lower_collection(environ.get("PATH_INFO", ""), self._root)
        return self._app(environ, start_response)


def with_lower_collection(path: str, root: str) -> str:
    """Return a path with the segment after the base path in lower case."""
    prefix = f"{root}/"
    if not path.startswith(prefix):
        return path
    collection, slash, rest = path.removeprefix(prefix).partition("/")
    return f"{prefix}{collection.lower()}{slash}{rest}"


class LazyRule(Rule):
    """A rule that is compiled to build URLs when the first one is built; few ever are.

    Werkzeug compiles each rule when it is added, which takes most of the time to create an app.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compile_ = super()._compile_builder
        builder: Callable[..., tuple[str, str]] | None = None

        def build(rule: Rule, /, **values: object) -> tuple[str, str]:
            nonlocal builder
            builder = builder or compile_(append_unknown)
            return builder(rule, **values)

        return build
