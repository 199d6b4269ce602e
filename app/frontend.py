"""Serving the files of a front end: the file for a path, its response, and the middleware."""

import json
import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug import Response
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import MapAdapter, Rule

from app.error_responses import error_body
from app.http.responses import ResponseHeaders
from app.http.sent_files import TYPES, OpenFile, send_file
from app.observability.origin import ROUTE
from app.problems import ConfigurationError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

INDEX = "index.html"
# Immutable files are cached for a year; all others are revalidated each time.
KEPT, ASKED_FOR = "public, max-age=31536000, immutable", "no-cache"
# Names with a hash of the content, as bundlers generate them: `main.3f2a1c.js`, `index-BsX2k9.css`.
# The hash has at least six characters, including a digit, and is hexadecimal or has a capital.
# Words followed by a number, such as `Version2`, `IMG_1234` or `20240115`, do not count.
HASHED = re.compile(
    r"[.-](?=\w*[0-9])(?![A-Za-z]*_?[0-9]*[a-z]{0,2}\.)"
    r"([0-9a-f]{6,}|(?=\w*[A-Z])[0-9A-Za-z_]{6,12})(\.chunk)?\.[0-9a-z]+$",
    re.ASCII,
)
# Folders whose names begin with a dot, but which are public (RFC 8615).
WELL_KNOWN = ".well-known"
# Source maps contain the source code; builds often write them without being told to.
SOURCE_MAP = ".map"
# Never part of a name: other systems' separators, control characters, and invalid UTF-8.
ODD_CHARACTER = re.compile(r"[\\:\x00-\x1f\x7f\ufffd]")
METHODS = {"GET", "HEAD"}
# Paths of features that may be switched off: like those of routes, they are never paths of the
# front end.
RESERVED = ("/auth", "/confirm-email", "/explorer", "/metrics", "/reset-password")
# The route's name in logs and metrics.
FILES = Rule("/<path:file>")


def find_file(folder: Path, path: str) -> Path | None:
    """Return the file in a folder for a URL's path, or None if there is none to send.

    The path of a folder stands for the `index.html` in it.
    """
    if not is_plain(path):
        return None
    file = folder.joinpath(path.strip("/"))
    try:
        if path.endswith("/") or file.is_dir():
            file /= INDEX
        # The folder itself may be a link; links in it must not lead outside of it.
        is_inside = file.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
        return file if is_inside and file.is_file() and os.access(file, os.R_OK) else None
    except (OSError, RuntimeError):
        # The name, or that of a link's target, is too long. Before Python 3.13, a link to itself
        # raises RuntimeError.
        return None


def is_plain(path: str) -> bool:
    """Return True if no segment of a URL's path is hidden, empty or odd; the last may be empty."""
    segments = path.removeprefix("/").removesuffix("/").split("/")
    if segments[0] == WELL_KNOWN:
        del segments[0]
    return (
        path.startswith("/")
        and not ODD_CHARACTER.search(path)
        and not path.lower().endswith(SOURCE_MAP)
        and (path == "/" or all(segment and segment[0] != "." for segment in segments))
    )


def file_response(path: Path, environ: "WSGIEnvironment") -> Response:
    """Return the response with a file, or with the requested part of it.

    Raises PreconditionFailed, RequestedRangeNotSatisfiable, and OSError if it cannot be read.
    """
    with ExitStack() as opened:
        file = opened.enter_context(OpenFile(path))
        found = os.fstat(file.fileno())
        response = Response(mimetype=TYPES.get(path.suffix.lower(), TYPES[""]))
        response.headers["Cache-Control"] = KEPT if HASHED.search(path.name) else ASKED_FOR
        etag = f"{found.st_mtime_ns:x}-{found.st_size:x}"
        send_file(response, environ, found.st_size, found.st_mtime, etag, file.part)
        if response.direct_passthrough:
            # The server closes it.
            opened.pop_all()
    return response


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
