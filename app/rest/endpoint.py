"""Endpoints, each declared once with its routes, access type, body, response and errors."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from inspect import getdoc
from typing import Any, NamedTuple, Self, TypeVar

from flask import Blueprint, Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, NotFound

from app.access.identity import current_identity
from app.access.narrowing import authorize_narrowed
from app.access.policy import authorize, install_rules
from app.access.rules import READ, ModelRules, Principal
from app.problems import ConfigurationError
from app.settings import Settings
from app.state import AppState

from .answers import JSON, NO_CONTENT, check_answer, check_schema, is_schema, make_dumper
from .relations import Relation
from .requests.bodies import read_body
from .requests.compatibility import Load, loader
from .routing import served_path

# A marshmallow schema, a list with the schema of its items, a JSON schema, or the names of a
# model's schemas: "{}" is the model's name, "[...]" an array, "|" an alternative.
SchemaSpec = Any
View = Callable[..., Any]
AnyView = TypeVar("AnyView", bound=View)
# Set in a request's environment to ask, before receiving the body, whether it is accepted:
# NO_CONTENT says so, any other answer is an error.
ASKS_FOR_UPLOAD = "ostiary.asks_for_upload"

# The HTTP verbs that an endpoint may have.
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Verbs that change nothing, unless the endpoint does so all the same (RFC 9110, 9.2.1).
SAFE_VERBS = {"GET", "HEAD", "OPTIONS"}


class Route(NamedTuple):
    """A verb and a path below the collection, with Flask's placeholders."""

    verb: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a route such as `GET /<id>`; `GET /` is the collection itself.

        Raises ValueError for anything else.
        """
        verb, _, path = text.partition(" ")
        if verb not in VERBS or not path.startswith("/"):
            raise ValueError(
                f"{text!r} is no route: write one of {', '.join(VERBS)}, a space and a path"
            )
        return cls(verb, path.rstrip("/"))

    def below(self, path: str) -> Self:
        """Return the same route below a path."""
        return self._replace(path=f"{path}{self.path}")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A remote method: its routes, access type, request body, response and errors.

    Authorization, loading the body, the OpenAPI operation and the tests' matrix of routes and
    callers are all derived from it.
    """

    # The method's name and access type (READ, WRITE or EXECUTE), used by access rules.
    method: str
    access: str
    routes: tuple[Route, ...]
    # Called with the grant, the arguments of the path and, for a marshmallow schema, `body`. The
    # return value is dumped by `answer`, unless it is a response.
    view: View
    # What it does and what else its callers should know, in the OpenAPI document. `{row}` and
    # `{parent}` in them are the names of a row of the subject and of the resource.
    summary: str
    description: str = ""
    # Whom it permits, unless rules decide otherwise, such as EVERYONE for a view that checks
    # credentials itself.
    permits: Principal | None = None
    body: SchemaSpec = None
    # None: the response has no content or, if `answer_type` is not JSON, is the text or bytes that
    # the view returns.
    answer: SchemaSpec = None
    # Whether what was asked for is done after the response, which is then 202.
    is_deferred: bool = False
    # The name of its structured query parameter, followed by "!" if it is required.
    query: str = ""
    # What that parameter holds, if it is not what its name says.
    query_form: str = ""
    # Whether it lists rows by pages, with `count` and the headers of `views/lists.py`.
    has_pages: bool = False
    # Further parameters in the query or header, as OpenAPI parameter objects.
    parameters: tuple[Mapping[str, object], ...] = ()
    # The JSON schemas of path arguments that are not strings.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    # Its own errors; those for body, rules, query and token are derived.
    errors: tuple[HTTPException, ...] = ()
    # The resource of `body` and `answer`, if it is not the endpoint's own.
    subject: str | None = None
    # The resources of the returned rows, if the subject differs between rows.
    answers: tuple[str, ...] = ()
    # Whether it links rows through another model: the body is then a new row of that model, without
    # the ids of both sides. And the relation that the endpoint belongs to.
    makes_link: bool = False
    relation: Relation | None = None
    # A further method, of the subject, that the caller must be allowed to call.
    requires: str = ""
    # A method of the same model: whoever may not call it may not call this one, unless rules name
    # this one, and where it is switched off, this one is.
    narrowed_by: str = ""
    # A method of the same model whose rules decide on this one; EVERYONE: its view decides who may
    # call it, whatever the rules say.
    ruled_by: str = ""
    # Whether the caller must also be allowed to read the relation's parent.
    reads_parent: bool = False
    # Whether it looks up a row, so that it may answer 404.
    finds_row: bool = False
    # Whether it creates a missing row, which also requires the permission for `create`.
    may_create: bool = False
    # Whether it changes one row, and its view checks `If-Match` and `If-None-Match`.
    has_preconditions: bool = False
    # Whether its rows have owners and its view applies the grant's scope. Rules for $owner are only
    # allowed for these methods.
    owned: bool = False
    # Whether its view applies the grant's scope to the rows that it reads, and to written rows in
    # their new state. Rules for dynamic roles are only allowed for these methods.
    by_row: bool = False
    # Whether personal tokens may not call it, regardless of their scopes. None: as for its
    # resource.
    session_only: bool | None = None
    # The scope that the token must have, and whether the token is optional.
    scope: str | None = None
    token_optional: bool = False
    # Whether personal tokens may call it whatever their scopes are, because these decide on what it
    # calls.
    unscoped: bool = False
    # Whether the view also gets the collection that serves it, as `collection`. Several models of
    # users serve the endpoints of users that do, or that are about a row.
    gets_collection: bool = False
    # Whether it does nothing but read and write rows of the database, so that a rollback undoes it,
    # and a batch may call it.
    atomic: bool = False
    # Whether it may answer 302 with the URL in its query parameter `redirect`.
    redirects: bool = False
    # Whether it computes a password hash, so that requests are queued for it. If the body is a
    # model's, the resource's `hashed` says so.
    hashes: bool = False
    # Maximum bytes of a body that is received in a file and read by the view from `request.stream`.
    # 0: a body in memory, of MAX_BODY_BYTES.
    max_upload: int = 0
    # The media type of such a body, if others are received in memory.
    upload_type: str = ""
    # The media types of the body and the response.
    body_type: str = JSON
    answer_type: str = JSON
    # Whether it sends a file, with ranges and preconditions, as `http/sent_files.py` does.
    sends_file: bool = False
    # Whether it may answer 304 to `If-None-Match` although it is not about a row.
    is_conditional: bool = False
    # Whether an app with these settings serves it. Rules may name it in any case.
    is_served: Callable[[Settings], bool] = lambda settings: True
    # Whether it is switched off: its routes behave like unknown paths.
    is_off: bool = False

    def __post_init__(self) -> None:
        """Make the schemas, so that one that cannot be made is an error where it is declared."""
        check_schema("body", self.body)
        check_answer(self.answer, self.answer_type)

    @property
    def has_content(self) -> bool:
        """Whether its response has content."""
        return self.answer is not None or self.answer_type != JSON

    @property
    def success(self) -> int:
        """The status of a call that succeeds."""
        if self.has_content:
            return 200
        return 202 if self.is_deferred else 204

    @property
    def answers_row(self) -> bool:
        """Whether the response is one row of the model, with its `ETag`."""
        return isinstance(self.answer, str) and self.answer.startswith("{}")

    def replace(self, **values: object) -> Self:
        """Return a copy with other values for some fields; raise TypeError for one that is unknown.

        `dataclasses.replace` reads and sets every field, and takes three times as long for so many.
        """
        if unknown := values.keys() - vars(self).keys():
            raise TypeError(f"an endpoint has no field {min(unknown)}")
        copied = copy(self)
        vars(copied).update(values)
        return copied

    def is_safe(self, verb: str) -> bool:
        """Return True if a request with this verb changes nothing; an endpoint may write by GET."""
        return verb in SAFE_VERBS and self.access == READ


# The endpoints of an app by `model.method`.
served_endpoints = AppState[dict[str, Endpoint]]("endpoints", factory=lambda _app: {})
# The methods of each model that are switched off.
switched_off = AppState[dict[str, Sequence[str]]]("methods switched off", factory=lambda _app: {})
# The names of what is served at each path below the base path.
_holders = AppState[dict[str, str]]("paths of models", factory=lambda _app: {})


def computes_hash(view: AnyView) -> AnyView:
    """Declare that a Flask view without a resource hashes a password.

    Requests for it are queued without occupying a thread. It is a decorator.
    """
    view.computes_hash = True  # type: ignore[attr-defined]
    return view


def described_by(view: View) -> dict[str, Any]:
    """Return `summary` and `description` of an endpoint of a project by its view's docstring."""
    summary, _, more = (getdoc(view) or "").partition("\n")
    return {"summary": summary.rstrip("."), "description": more.strip()}


def declare(method: str, access: str, *routes: str, **declared: Any) -> Callable[[View], View]:
    """Declare an endpoint with a method of a class as its view, at routes such as `GET /<id>`.

    `endpoints_of` collects what a class declares.
    """

    def decorate(view: View) -> View:
        where = tuple(map(Route.parse, routes))
        endpoint = Endpoint(method=method, access=access, routes=where, view=view, **declared)
        view.endpoint = endpoint  # type: ignore[attr-defined]
        return view

    return decorate


def endpoints_of(views: object) -> list[Endpoint]:
    """Return the endpoints declared by the class of `views`, with bound methods as views."""
    declared = declared_by(type(views))
    return [endpoint.replace(view=getattr(views, name)) for name, endpoint in declared.items()]


def declared_by(views: type) -> dict[str, Endpoint]:
    """Return the endpoints declared by a class, by the names of its methods."""
    names = [name for base in reversed(views.__mro__) for name in vars(base)]
    functions = {name: getattr(views, name) for name in names}
    return {
        name: function.endpoint
        for name, function in functions.items()
        if hasattr(function, "endpoint")
    }


@dataclass(frozen=True)
class Endpoints(ModelRules):
    """Endpoints under one name, with the rules for them."""

    methods: Sequence[Endpoint]
    # The path below the base path; None: the name.
    path: str | None = None


def register_endpoints(app: Flask, declared: Endpoints) -> None:
    """Serve endpoints under the base path, if enabled by the settings.

    Raises ConfigurationError for a rule of a method without an endpoint, for one for $owner or a
    dynamic role that cannot apply to its method, and for a name or path that is taken.
    """
    name = declared.model
    if name in app.blueprints:
        raise ConfigurationError(f"{name} is served already; set another name")
    path = served_path(declared.path or name)
    served = [endpoint for endpoint in declared.methods if endpoint.is_served(app.config)]
    # A model that is not public does not reserve its path.
    if served or not declared.methods:
        _claim_path(app, path.lower(), name)
    # Also for endpoints that are not served.
    install_rules(app, declared)
    switched_off.of(app)[name] = sorted(
        {endpoint.method for endpoint in declared.methods if endpoint.is_off}
    )
    bp = Blueprint(name, __name__)
    for endpoint in served:
        view = _not_found if endpoint.is_off else _view_function(app, name, endpoint)
        for verb, route in endpoint.routes:
            if endpoint.is_off and verb == "HEAD":
                # The endpoint for GET answers it, as in LoopBack 3.
                continue
            bp.add_url_rule(route, endpoint.method, view, methods=[verb])
    app.register_blueprint(bp, url_prefix=f"{app.config['REST_API_ROOT']}/{path}")


def _claim_path(app: Flask, path: str, name: str) -> None:
    """Raise ConfigurationError for a path that is already served under any name."""
    holders = _holders.of(app)
    if path in holders:
        raise ConfigurationError(
            f"{name} cannot be served at /{path}: {holders[path]} is served there"
        )
    holders[path] = name


def _not_found(**arguments: str) -> ResponseReturnValue:
    raise NotFound()


def _view_function(app: Flask, name: str, endpoint: Endpoint) -> Callable[..., ResponseReturnValue]:
    """Return the Flask view: authorize, load the body, call the view, dump its result."""
    method, view = endpoint.method, endpoint.view
    served_endpoints.of(app)[f"{name}.{method}"] = endpoint
    load = _body_loader(endpoint.body, loader(app.config))
    dump = make_dumper(f"{name}.{method}", endpoint.answer, endpoint.answer_type, endpoint.success)
    permit = authorize_narrowed if endpoint.narrowed_by else authorize

    def respond(**arguments: str) -> ResponseReturnValue:
        grant = permit(name, method, arguments.get("id"))
        if endpoint.scope is not None:
            current_identity().require_scope(endpoint.scope)
        if endpoint.max_upload:
            request.max_content_length = endpoint.max_upload
            if ASKS_FOR_UPLOAD in request.environ:
                return NO_CONTENT
        result = view(grant, **arguments, **load())
        return result if isinstance(result, Response) else dump(result)

    return respond


def _body_loader(body: SchemaSpec, load: Load) -> Callable[[], dict[str, object]]:
    """Return the function that loads the body; without a marshmallow schema the view reads it."""
    if not is_schema(body):
        return dict
    # Made by the first request, as it takes time.
    schema = cache(body)
    return lambda: {"body": load(schema(), read_body())}
