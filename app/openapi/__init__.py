"""The OpenAPI document: where it is served, and how a feature adds what it knows to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

# A JSON schema, a marshmallow schema, or a list of the one schema that its items have.
Shape = Any


@dataclass(frozen=True)
class Operation:
    """What an endpoint takes and gives, as far as its route and its rules do not tell."""

    body: Shape = None
    # None is 204 and nothing.
    answer: Shape = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    # Parameters in the query, as OpenAPI writes them; and schemas of those in the path.
    parameters: tuple[Mapping[str, Any], ...] = ()
    arguments: Mapping[str, Shape] = field(default_factory=dict)
    # The errors that are its own; those of its body, its rules and the token are known.
    errors: tuple[HTTPException, ...] = ()
    # Further rules that a call must pass, each a model and one of its methods.
    rules: tuple[tuple[str, str], ...] = ()
    # The scope of the one kind of token that opens it, and if it works without any token.
    scope: str | None = None
    token_optional: bool = False
    # What the words `row` and `parent` mean in the view's docstring.
    words: Mapping[str, str] = field(default_factory=dict)


# Returns operations by the name of their endpoint.
Describer = Callable[[Flask], Mapping[str, Operation]]

bp = Blueprint("openapi", __name__)


def init_app(app: Flask) -> None:
    """Serve the document under the base path; it is built when somebody first asks for it."""
    app.extensions["openapi"] = cache(partial(_write, app))
    app.register_blueprint(bp, url_prefix=app.config["REST_API_ROOT"])


def describe(app: Flask, describer: Describer) -> None:
    """Add what a feature knows of its operations.

    An endpoint under the base path that nobody describes is in the document all the same, with
    what its route, its docstring and its rules say.
    """
    app.extensions.setdefault("describers", []).append(describer)


@bp.get("/openapi.json")
def document() -> ResponseReturnValue:
    """Show this document: OpenAPI 3.1 of every operation under the base path."""
    # Where the API is may differ from request to request, and the rest may not.
    base = request.script_root + current_app.config["REST_API_ROOT"]
    servers = current_app.json.dumps([{"url": base}])
    rest = current_app.extensions["openapi"]()
    response = Response(f'{{"servers": {servers}, {rest[1:]}', mimetype="application/json")
    response.add_etag()
    response.headers["Cache-Control"] = "no-cache"
    return response.make_conditional(request)


def _write(app: Flask) -> str:
    # apispec is loaded by the first process and request that needs it, and by no other.
    build = import_module("app.openapi.document").build
    return app.json.dumps(build(app))
