"""WSGI middleware that serves the files of STATIC_FOLDER for paths without a route."""

import json
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug import Response
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import MapAdapter, Rule

from app.config import ConfigurationError
from app.error_responses import error_body
from app.http.headers import ResponseHeaders
from app.observability.origin import ROUTE

from .files import INDEX, WELL_KNOWN, file_response, find_file, is_plain

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = {"GET", "HEAD"}
# Paths of features that may be switched off: like those of routes, they are never paths of the
# front end.
RESERVED = ("/auth", "/confirm-email", "/explorer", "/metrics", "/reset-password")
# The route's name in logs and metrics.
FILES = Rule("/<path:file>")


def init_app(app: Flask) -> None:
    """Serve the folder; raise ConfigurationError if it contains the project."""
    folder = Path(app.instance_path, app.config["STATIC_FOLDER"])
    try:
        has_project = Path(app.instance_path).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"STATIC_FOLDER cannot be used: {error}") from None
    if has_project:
        raise ConfigurationError(f"STATIC_FOLDER has the whole project in it: {folder}")
    # Path.is_file may raise an error, for example if the service may not access the folder.
    if not os.path.isfile(folder / INDEX):
        # Such as before the first build; the project's tests and commands do not need the folder.
        app.logger.warning("STATIC_FOLDER has no %s: %s", INDEX, folder)
    app.wsgi_app = FrontEnd(app, app.wsgi_app, folder)  # type: ignore[method-assign]


class FrontEnd:
    """Answers GET and HEAD with a file, or with the page for paths handled in the browser."""

    def __init__(self, app: Flask, wsgi_app: "WSGIApplication", folder: Path) -> None:
        self._app = app
        self._wsgi_app = wsgi_app
        self._folder = folder
        self._api = f"{app.config['REST_API_ROOT']}/"
        self._policy = app.config["STATIC_POLICY"]

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Serve a file, or call the app."""
        path = environ.get("PATH_INFO", "")
        answer = self._wsgi_app
        if not path.startswith(self._api) and environ["REQUEST_METHOD"] in METHODS:
            answer = self._find(path, environ) or answer
        return answer(environ, start_response)

    def _find(self, raw: str, environ: "WSGIEnvironment") -> "WSGIApplication | None":
        """Return the response for a path, which WSGI encodes in Latin-1; None to call the app."""
        path = raw.encode("latin-1").decode(errors="replace") or "/"
        if not is_plain(path) or self._is_route(path):
            return None
        file, is_page = find_file(self._folder, path), False
        if file is None and _asks_for_page(path, environ):
            file, is_page = find_file(self._folder, "/"), True
        if file is None:
            return None
        environ[ROUTE] = FILES
        return ResponseHeaders(self._response(file, is_page, environ))

    def _response(self, file: Path, is_page: bool, environ: "WSGIEnvironment") -> Response:
        """Return the response with a file, or with an error about the requested part."""
        try:
            response = file_response(file, environ)
        except HTTPException as error:
            response = Response(json.dumps(error_body(error)), error.code, error.get_headers())
            response.mimetype = "application/json"
            return response
        if self._policy:
            response.headers["Content-Security-Policy"] = self._policy
        if is_page:
            # Other clients get a 404 in JSON.
            response.vary.add("Accept")
        return response

    def _is_route(self, path: str) -> bool:
        """Return True if the app has a route for a path or one of its parents."""
        if f"{path}/".startswith(self._route_prefixes):
            return True
        try:
            self._routes.match(path, method="GET")
        except HTTPException as error:
            return not isinstance(error, NotFound)
        return True

    @cached_property
    def _routes(self) -> MapAdapter:
        return self._app.url_map.bind("")

    @cached_property
    def _route_prefixes(self) -> tuple[str, ...]:
        """The paths of routes up to their first variable, each followed by a slash."""
        paths = {_constant_part(rule.rule) for rule in self._app.url_map.iter_rules()}
        return tuple(f"{path}/" for path in {*paths, *RESERVED} - {""})


def _constant_part(rule: str) -> str:
    """Return the segments of a rule before its first variable."""
    before, variable, _ = rule.partition("<")
    return before.rpartition("/")[0] if variable else before.rstrip("/")


def _asks_for_page(path: str, environ: "WSGIEnvironment") -> bool:
    """Return True if a browser requests a page, and not a missing file."""
    is_page = "." not in path.rpartition("/")[2] and not path.startswith(f"/{WELL_KNOWN}/")
    return is_page and "text/html" in environ.get("HTTP_ACCEPT", "")
