"""An endpoint, declared once: its routes, its authorization, its body and its documentation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import marshmallow
from flask import Blueprint, Flask, Response, jsonify
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from app.access.identity import current_identity
from app.access.policy import authorize, install_rules
from app.access.rules import Rule

from .bodies import read_body

# A marshmallow schema, a list of the one schema that its items have, a JSON schema, or the names
# of a model's schemas: "{}" is the model's name, "[...]" an array, "|" an alternative.
Shape = Any
View = Callable[..., Any]
NO_CONTENT = ("", 204)


class Route(NamedTuple):
    """A verb and a path below the collection, with Flask's placeholders."""

    verb: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a route such as `GET /<id>`; `GET /` is the collection itself."""
        verb, path = text.split(" ")
        return cls(verb, path.rstrip("/"))

    def below(self, path: str) -> Self:
        """Return the same route below a path."""
        return self._replace(path=f"{path}{self.path}")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A method that clients call: where, who may, what goes in and what comes out.

    Authorization, loading the body, the operation in the OpenAPI document and the table of
    routes and callers in the tests are all derived from it.
    """

    # The method's name and access type, as rules speak of it.
    method: str
    access: str
    routes: tuple[Route, ...]
    # Called with the grant, the path's arguments and, where the body is a marshmallow schema,
    # `body`. What it returns is dumped by `answer`, unless it is a response already.
    view: View
    body: Shape = None
    # None is 204 and no content.
    answer: Shape = None
    # The structured query parameter that it reads; "!" when it is required.
    query: str = ""
    # Further parameters in the query or the header, as OpenAPI writes them.
    parameters: tuple[Mapping[str, Any], ...] = ()
    # The schemas of the path's arguments, where they are not text.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    # Its own errors; those of its body, its rules, its query and the token are derived.
    errors: tuple[HTTPException, ...] = ()
    # The resource whose schemas `body` and `answer` name, where it is another one.
    subject: str | None = None
    # A further method, of the subject, that the caller needs the permission for.
    requires: str = ""
    # Whether it is about a row, which may be missing.
    finds_row: bool = False
    # The scope of the one kind of token that opens it, and whether it works without any token.
    scope: str | None = None
    token_optional: bool = False


def declare(method: str, access: str, *routes: str, **declared: Any) -> Callable[[View], View]:
    """Declare the endpoint of a view of a class, served at routes such as `GET /<id>`.

    `endpoints_of` collects what a class declares.
    """

    def decorate(view: View) -> View:
        where = tuple(Route.parse(each) for each in routes)
        endpoint = Endpoint(method=method, access=access, routes=where, view=view, **declared)
        view.endpoint = endpoint  # type: ignore[attr-defined]
        return view

    return decorate


def endpoints_of(views: object) -> list[Endpoint]:
    """Return the endpoints that the class of `views` declares, with its bound methods as views."""
    return [
        replace(function.endpoint, view=getattr(views, name))
        for name, function in vars(type(views)).items()
        if hasattr(function, "endpoint")
    ]


def register_endpoints(
    app: Flask, name: str, endpoints: Iterable[Endpoint], rules: Iterable[Rule]
) -> None:
    """Serve endpoints under the base path, at `/name`, with these rules.

    Raises ConfigurationError for a rule that speaks of a method without an endpoint.
    """
    endpoints = list(endpoints)
    install_rules(app, name, {each.method: each.access for each in endpoints}, rules)
    bp = Blueprint(name, __name__)
    declared = app.extensions.setdefault("endpoints", {})
    for endpoint in endpoints:
        declared[f"{name}.{endpoint.method}"] = endpoint
        view = _view_function(name, endpoint)
        for verb, path in endpoint.routes:
            bp.add_url_rule(path, endpoint.method, view, methods=[verb])
    # The segment comes in any case, and is routed in lower case.
    app.register_blueprint(bp, url_prefix=f"{app.config['REST_API_ROOT']}/{name.lower()}")


def _view_function(name: str, endpoint: Endpoint) -> Callable[..., ResponseReturnValue]:
    """Return the function that Flask calls: authorize, load the body, call the view, dump."""
    method, view = endpoint.method, endpoint.view
    load, dump = _loader(endpoint.body), _dumper(endpoint.answer)

    def respond(**arguments: str) -> ResponseReturnValue:
        grant = authorize(name, method, arguments.get("id"))
        if endpoint.scope is not None:
            current_identity().require_scope(endpoint.scope)
        result = view(grant, **arguments, **load())
        return result if isinstance(result, Response) else dump(result)

    return respond


def _loader(body: Shape) -> Callable[[], dict[str, Any]]:
    """Return how a body is read where a schema loads it; other views read it themselves."""
    if not isinstance(body, type) or not issubclass(body, marshmallow.Schema):
        return dict
    schema = body()
    return lambda: {"body": schema.load(read_body())}


def _dumper(answer: Shape) -> Callable[[Any], ResponseReturnValue]:
    """Return how the result of a view becomes a response."""
    if answer is None:
        return lambda _: NO_CONTENT
    many = isinstance(answer, list)
    schema = answer[0] if many else answer
    if not isinstance(schema, type):
        return jsonify
    dump = schema(many=many).dump
    return lambda result: jsonify(dump(result))
