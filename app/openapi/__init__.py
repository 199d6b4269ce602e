"""The OpenAPI document and its route."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request
from flask.typing import ResponseReturnValue

from app.state import AppState

bp = Blueprint("openapi", __name__)

# The paths at which browsers begin a login by an identity provider, by the provider's name.
login_paths = AppState[dict[str, str]]("paths of logins", factory=lambda _app: {})
# Returns the document without `servers`, as JSON.
document_text = AppState[Callable[[], str]]("OpenAPI document")


def init_app(app: Flask) -> None:
    """Serve the document under the base path; the first request builds it."""
    document_text.set(app, cache(partial(_write, app)))
    app.register_blueprint(bp, url_prefix=app.config["REST_API_ROOT"])


@bp.get("/openapi.json")
def document() -> ResponseReturnValue:
    """Show this document: OpenAPI 3.1 of every operation under the base path."""
    # The API's URL may differ between requests; the rest is built once.
    base = request.script_root + current_app.config["REST_API_ROOT"]
    servers = current_app.json.dumps([{"url": base}])
    rest = document_text.current()
    response = Response(f'{{"servers": {servers}, {rest[1:]}', mimetype="application/json")
    response.add_etag()
    response.headers["Cache-Control"] = "no-cache"
    # `If-Match` has no meaning here, as nothing is changed.
    environ = {name: value for name, value in request.environ.items() if name != "HTTP_IF_MATCH"}
    return response.make_conditional(environ)


def undescribed(app: Flask) -> list[str]:
    """Return a sentence about each part of an app that the document cannot describe."""
    with app.test_request_context():
        _, problems = _build(app)
    return problems


def _write(app: Flask) -> str:
    written, problems = _build(app)
    for problem in problems:
        app.logger.warning("OpenAPI document: %s", problem)
    return app.json.dumps(written)


def _build(app: Flask) -> tuple[dict[str, Any], list[str]]:
    # Imported on first use, because apispec takes time and memory to load.
    built: tuple[dict[str, Any], list[str]] = import_module("app.openapi.document").build(app)
    return built
