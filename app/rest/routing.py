"""Routing: collections in any case, as in LoopBack 3, and values with encoded slashes."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes, urlsplit
from weakref import WeakSet

from flask import Flask, Request, Response, request
from werkzeug.exceptions import NotFound
from werkzeug.routing import MapAdapter, PathConverter, Rule, UnicodeConverter
from werkzeug.wsgi import get_host

from app import errors
from app.error_responses import error_response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Replaces an encoded slash in the path used for routing. No value contains a NUL: a client's NUL
# becomes the replacement character.
SLASH, NO_CHARACTER = "\0", "\xff"
QUOTED_SLASH = quote(SLASH)
# Returns the domain and the path of a rule's URL for values of its variables.
Builder = Callable[..., tuple[str, str]]


class RoutedPaths:
    """WSGI middleware: `/api/Users/7` is routed as `/api/users/7`, and `a%2Fb` is one segment."""

    def __init__(self, app: "WSGIApplication", root: str) -> None:
        self._app = app
        self._root = root

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Call the app with the path used for routing."""
        path, raw = environ.get("PATH_INFO", ""), environ.get("RAW_URI", "")
        environ["PATH_INFO"] = routed_path(path, raw, self._root)
        return self._app(environ, start_response)


def routed_path(path: str, raw: str, root: str) -> str:
    """Return the path used for routing; `raw` is the request target as the client sent it.

    The segment after the base path is in lower case, double slashes around it become single ones,
    and encoded slashes become SLASH.
    """
    prefix = f"{root}/"
    if not path.startswith(prefix):
        return path
    if SLASH in path:
        path = path.replace(SLASH, NO_CHARACTER)
    if "%2F" in raw or "%2f" in raw:
        path = _with_encoded_slashes(path, raw)
    rest = path.removeprefix(prefix)
    if "//" in path:
        rest = _with_single_slashes(rest)
    return prefix + served_path(rest)


def served_path(path: str) -> str:
    """Return a path below the base path as it is served: its first segment is in lower case."""
    collection, slash, rest = path.partition("/")
    return f"{collection.lower()}{slash}{rest}"


def routed_target(target: str, root: str) -> str:
    """Return the path used for routing a request target without its query, as WSGI decodes it."""
    return routed_path(unquote_to_bytes(target).decode("latin-1"), target, root)


def _with_single_slashes(path: str) -> str:
    """Return a path below the base path without the double slashes that LoopBack 3 accepts.

    They may stand before and after the collection.
    """
    collection, slash, rest = path.removeprefix("/").partition("/")
    return f"{collection}{slash}{rest.removeprefix('/')}"


def _with_encoded_slashes(path: str, raw: str) -> str:
    """Return a decoded path with SLASH for each encoded slash in its target."""
    encoded = urlsplit(raw).path.replace("%00", "%FF").replace("%2f", "%00").replace("%2F", "%00")
    decoded = unquote_to_bytes(encoded).decode("latin-1")
    # Otherwise a server, or a proxy's prefix, has changed the path.
    return decoded if decoded.replace(SLASH, "/") == path else path


def requested_path() -> str:
    """Return the path of the request as in a URL."""
    return quote(request.path).replace(QUOTED_SLASH, "%2F")


class Segment(UnicodeConverter):
    """A segment of a path, which may contain an encoded slash."""

    def to_python(self, value: str) -> str:
        """Return the value with the slash."""
        return value.replace(SLASH, "/")

    def to_url(self, value: object) -> str:
        """Return the value with the slash encoded."""
        return super().to_url(value).replace("/", "%2F")


class Segments(PathConverter):
    """Several segments of a path; an encoded slash separates segments like any other."""

    def to_python(self, value: str) -> str:
        """Return the value with the slash."""
        return value.replace(SLASH, "/")


class Application(Flask):
    """The Flask application; requests are routed for any host name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Functions that are no coroutines.
        self._plain = WeakSet[Callable[..., Any]]()

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, or one that runs a coroutine; Flask would inspect it at each call.

        Functions of a single request are not kept.
        """
        if func in self._plain:
            return func
        called = super().ensure_sync(func)
        if called is func:
            self._plain.add(func)
        return called

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the URL adapter for a request, at half of Flask's cost: the host is read once."""
        if request is None:
            return super().create_url_adapter(None)
        request.trusted_hosts = self.config["TRUSTED_HOSTS"]
        request.host = get_host(request.environ, request.trusted_hosts)
        return MapAdapter(
            self.url_map,
            self.config["SERVER_NAME"] or request.host,
            request.root_path or "/",
            "",
            request.scheme,
            request.path,
            request.method,
            request.query_string.decode("latin-1"),
        )


def init_app(app: Flask) -> None:
    """Set how the rules of an app are matched; must precede the first rule."""
    app.register_error_handler(NotFound, _handle_not_found)
    app.url_rule_class = LazyRule
    app.url_map.strict_slashes = False
    # Otherwise double slashes are redirected to a URL that repeats a token in the query.
    app.url_map.merge_slashes = False
    app.url_map.converters |= {"default": Segment, "string": Segment, "path": Segments}


def _handle_not_found(error: NotFound) -> Response:
    """Set the path of a request that matches no route."""
    if error is request.routing_exception:
        path = errors.quote(request.path.replace(SLASH, "%2F"))
        error.description = f"There is no method to handle {request.method} {path}"
    return error_response(error)


class LazyRule(Rule):
    """A rule that is only compiled for building URLs when one is built; few ever are.

    Werkzeug compiles each rule when it is added, which takes most of the time to create an app.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Builder:
        return _build_with_query if append_unknown else _build

    @cached_property
    def builders(self) -> tuple[Builder, Builder]:
        """The compiled functions: without the other values, and with them in the query."""
        return super()._compile_builder(False), super()._compile_builder(True)


def _build(rule: LazyRule, /, **values: object) -> tuple[str, str]:
    return rule.builders[0](rule, **values)


def _build_with_query(rule: LazyRule, /, **values: object) -> tuple[str, str]:
    return rule.builders[1](rule, **values)
