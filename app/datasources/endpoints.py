"""Endpoints for the functions of public data sources: `/api/geo/geocode`."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain

from flask import Flask, request
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError as RuleValidationError

from app.access.identity import HEADER, QUERY, current_identity
from app.access.policy import Grant
from app.access.rules import AUTHENTICATED, EXECUTE, READ, Rule, allow, parse_rules
from app.config import ConfigurationError
from app.connector import DataSource, Operation, Variable
from app.connector.types import JsonObject
from app.errors import RemoteError, RemoteTimeout, TooManyCalls, ValidationError
from app.ids import FORMS
from app.rest.endpoint import Endpoint, Endpoints, Route, register_endpoints
from app.rest.requests.bodies import read_body

from . import data_sources
from .calls import limit_calls
from .functions import call_function, respond
from .schemas import endpoint_schemas, variables_in
from .sources import create_sources

# Names of data sources, functions and arguments that are allowed in a path.
SEGMENT = re.compile(r"[A-Za-z]\w*", re.ASCII)
# The name of the blueprint that is registered after those of data sources.
LAST = "openapi"


def init_app(app: Flask) -> None:
    """Create the data sources; serve the functions of public ones under the base path."""
    create_sources(app)
    limit_calls(app)
    for source in data_sources.of(app).values():
        if source.public:
            _check_names(app, source)
            endpoints, rules = function_endpoints(source), _rules(app, source)
            register_endpoints(app, Endpoints(source.name, endpoints, rules))


def _check_names(app: Flask, source: DataSource) -> None:
    """Raise ConfigurationError for names that cannot be used in a path or are taken."""
    if source.name.lower() in {LAST, *map(str.lower, app.blueprints)}:
        raise ConfigurationError(f"data source {source.name!r} cannot be public: the name is taken")
    in_paths = [variables_in(operation, "path") for operation in source.operations.values()]
    for name in (source.name, *source.operations, *chain.from_iterable(in_paths)):
        if not SEGMENT.fullmatch(name):
            raise ConfigurationError(
                f"data source {source.name!r} cannot be public: {name!r} cannot stand in a path"
            )


def _rules(app: Flask, source: DataSource) -> list[Rule]:
    try:
        if source.acls:
            return parse_rules(source.acls, source.operations, FORMS[app.config["ID_TYPE"]])
        return [allow(AUTHENTICATED)]
    except (RuleValidationError, ValueError) as error:
        raise ConfigurationError(f"data source {source.name!r}: acls: {error}") from None


def function_endpoints(source: DataSource) -> list[Endpoint]:
    """Return the endpoints of all functions of a data source."""
    return [_endpoint(source.name, operation) for operation in source.operations.values()]


def _endpoint(source: str, operation: Operation) -> Endpoint:
    """Return the endpoint of a function."""
    verb = endpoint_verb(operation)
    return Endpoint(
        method=operation.name,
        access=READ if verb in ("GET", "HEAD") else EXECUTE,
        routes=(Route(verb, endpoint_path(operation, _segment)),),
        view=_view(source, operation),
        errors=(
            ValidationError({name: ["cannot be sent"] for name in operation.parameters[:1]}),
            RemoteError(404),
            RemoteTimeout(),
            TooManyCalls(),
        ),
        **endpoint_schemas(operation),
    )


def endpoint_path(
    operation: Operation, segment: Callable[[Variable], str] = lambda known: f"{{{known.name}}}"
) -> str:
    """Return the path of a function below its data source: its name, and path arguments."""
    in_path = variables_in(operation, "path").values()
    return "/".join(["", operation.name, *map(segment, in_path)])


def _segment(variable: Variable) -> str:
    return f"<path:{variable.name}>" if variable.type == "path" else f"<{variable.name}>"


def endpoint_verb(operation: Operation) -> str:
    """Return the verb of a function's endpoint: the template's method, POST if that varies."""
    return operation.method if operation.method.isalpha() else "POST"


def _view(source: str, operation: Operation) -> Callable[..., ResponseReturnValue]:
    def call(grant: Grant, **path: str) -> ResponseReturnValue:
        values = _read_arguments(operation, path)
        return respond(operation, call_function(source, operation, values))

    call.__doc__ = f"Call {source}.{operation.name}."
    return call


def _read_arguments(operation: Operation, path: Mapping[str, str]) -> JsonObject:
    """Return the request's arguments, each read from the HTTP source of its metadata."""
    return {
        **path,
        **_read_query(variables_in(operation, "query")),
        **_read_headers(variables_in(operation, "header")),
        **_read_properties(variables_in(operation, "body", "form")),
    }


def _read_query(names: Iterable[str]) -> JsonObject:
    # The caller's own access token is not passed to the remote service.
    is_token = current_identity().has_token_in
    given = {name: request.args.getlist(name) for name in names if not is_token(QUERY, name)}
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in given.items() if texts}


def _read_headers(names: Iterable[str]) -> JsonObject:
    is_token = current_identity().has_token_in
    given = [name for name in names if name in request.headers and not is_token(HEADER, name)]
    return {name: request.headers[name] for name in given}


def _read_properties(names: Collection[str]) -> JsonObject:
    body = read_body() if names else {}
    return {name: body[name] for name in names if name in body}
