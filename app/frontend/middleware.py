"""WSGI middleware that answers by the files of STATIC_FOLDER what is no route of the app."""

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
from app.errors import error_body
from app.http.headers import ResponseHeaders
from app.observability.origin import ROUTE

from .files import INDEX, WELL_KNOWN, file_response, find_file, is_plain

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = {"GET", "HEAD"}
# The paths of features that may be off: below them there is never a page of the front end, beside
# those of the app's routes.
RESERVED = ("/auth", "/confirm-email", "/explorer", "/metrics", "/reset-password")
# What logs and metrics call the route.
FILES = Rule("/<path:file>")


def init_app(app: Flask) -> None:
    """Serve the folder; raise ConfigurationError if it has the project in it."""
    folder = Path(app.instance_path, app.config["STATIC_FOLDER"])
    try:
        has_project = Path(app.instance_path).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"STATIC_FOLDER cannot be used: {error}") from None
    if has_project:
        raise ConfigurationError(f"STATIC_FOLDER has the whole project in it: {folder}")
    # Path.is_file raises some errors, such as for a folder that is closed to the service.
    if not os.path.isfile(folder / INDEX):
        # As before the first build, which the tests and commands of a project do not need.
        app.logger.warning("STATIC_FOLDER has no %s: %s", INDEX, folder)
    app.wsgi_app = FrontEnd(app, app.wsgi_app, folder)  # type: ignore[method-assign]


class FrontEnd:
    """Answers GET and HEAD: by a file, or by the page for a path that it knows in the browser."""

    def __init__(self, app: Flask, wsgi_app: "WSGIApplication", folder: Path) -> None:
        self._app = app
        self._wsgi_app = wsgi_app
        self._folder = folder
        self._api = f"{app.config['REST_API_ROOT']}/"
        self._policy = app.config["STATIC_POLICY"]

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer, or let the app answer."""
        path = environ.get("PATH_INFO", "")
        answer = self._wsgi_app
        if not path.startswith(self._api) and environ["REQUEST_METHOD"] in METHODS:
            answer = self._find(path, environ) or answer
        return answer(environ, start_response)

    def _find(self, raw: str, environ: "WSGIEnvironment") -> "WSGIApplication | None":
        """Return what answers a request for a path, which WSGI has in Latin-1; None: the app."""
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
        """Return the response with a file, or with an error about the part that is asked for."""
        try:
            response = file_response(file, environ)
        except HTTPException as error:
            response = Response(json.dumps(error_body(error)), error.code, error.get_headers())
            response.mimetype = "application/json"
            return response
        if self._policy:
            response.headers["Content-Security-Policy"] = self._policy
        if is_page:
            # Others get the JSON of a 404.
            response.vary.add("Accept")
        return response

    def _is_route(self, path: str) -> bool:
        """Return True if the app has a route for a path, or for what is above it."""
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
        """The paths of routes up to their first variable, with a slash behind each."""
        paths = {_constant_part(rule.rule) for rule in self._app.url_map.iter_rules()}
        return tuple(f"{path}/" for path in {*paths, *RESERVED} - {""})


def _constant_part(rule: str) -> str:
    """Return the segments of a rule before the first one that has a variable."""
    before, variable, _ = rule.partition("<")
    return before.rpartition("/")[0] if variable else before.rstrip("/")


def _asks_for_page(path: str, environ: "WSGIEnvironment") -> bool:
    """Return True if a browser asks for a page, and not for a file that is missing."""
    is_page = "." not in path.rpartition("/")[2] and not path.startswith(f"/{WELL_KNOWN}/")
    return is_page and "text/html" in environ.get("HTTP_ACCEPT", "")
