"""Endpoints for the functions of public data sources."""

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable
from itertools import chain

from flask import Flask, jsonify, make_response, request
from flask import Response as HttpResponse
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError as RuleValidationError

from app.access.identity import HEADER, QUERY, TokenTransport, current_identity
from app.access.parsing import parse_rules
from app.access.policy import Grant
from app.access.rules import AUTHENTICATED, EXECUTE, READ, Rule, allow
from app.connector import (
    DataSource,
    Operation,
    Response,
    Variable,
    VariableError,
)
from app.connector.errors import MissingVariableError
from app.connector.operation.operation import Argument
from app.connector.types import JsonObject, JsonValue
from app.errors import BLANK, RemoteError, RemoteTimeout, TooManyCalls, ValidationError
from app.ids import FORMS
from app.problems import ConfigurationError
from app.rest.endpoint import Endpoint, Endpoints, Route, register_endpoints
from app.rest.requests.bodies import read_body

from . import data_sources
from .sources import call_remote, create_sources, limit_calls

# The variable types that are JSON Schema types too; others have an empty schema.
TYPES = {"string", "number", "integer", "boolean", "object", "array"}
# The part of a request for arguments of a variable that has no place in HTTP.
PARTS = {"options": "header", "method": "query"}
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
    in_paths = [_variables_in(operation, "path") for operation in source.operations.values()]
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
        summary=f"Call {source}.{operation.name}",
        errors=(
            ValidationError({name: ["cannot be sent"] for name in operation.parameters[:1]}),
            RemoteError(404),
            RemoteTimeout(),
            TooManyCalls(),
        ),
        **_endpoint_schemas(operation),
    )


def endpoint_path(
    operation: Operation, segment: Callable[[Variable], str] = lambda known: f"{{{known.name}}}"
) -> str:
    """Return the path of a function below its data source: its name, and path arguments."""
    in_path = _variables_in(operation, "path").values()
    return "/".join(["", operation.name, *map(segment, in_path)])


def _segment(variable: Variable) -> str:
    return f"<path:{variable.name}>" if variable.type == "path" else f"<{variable.name}>"


def endpoint_verb(operation: Operation) -> str:
    """Return the verb of a function's endpoint: the template's method, POST if that varies."""
    return operation.method if operation.method.isalpha() else "POST"


def _view(source: str, operation: Operation) -> Callable[..., ResponseReturnValue]:
    """Return the view of a function: each argument is read from the HTTP source of its metadata."""
    query, headers = _variables_in(operation, "query"), _variables_in(operation, "header")
    properties = _variables_in(operation, "body", "form")

    def call(grant: Grant, **path: str) -> ResponseReturnValue:
        used = current_identity().transport
        values = {
            **path,
            **_read_query(_without_token(query, QUERY, used)),
            **_read_headers(_without_token(headers, HEADER, used)),
            **_read_properties(properties),
        }
        return respond(operation, call_function(source, operation, values))

    return call


def _without_token(
    names: Iterable[str], location: str, used: TokenTransport | None
) -> Iterable[str]:
    """Return the names without that of the caller's access token, which no remote service gets."""
    if used is None or used.location != location:
        return names
    return [name for name in names if name.lower() != used.name.lower()]


def _read_query(names: Iterable[str]) -> JsonObject:
    given = {name: request.args.getlist(name) for name in names}
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in given.items() if texts}


def _read_headers(names: Iterable[str]) -> JsonObject:
    return {name: request.headers[name] for name in names if name in request.headers}


def _read_properties(names: Collection[str]) -> JsonObject:
    body = read_body() if names else {}
    return {name: body[name] for name in names if name in body}


def part_of_request(argument: Argument) -> str:
    """Return the place of an argument in a request: `path`, `query`, `header`, `body` or `form`."""
    source = argument["http"]["source"]
    return PARTS.get(source, source)


def _variables_in(operation: Operation, *parts: str) -> dict[str, Variable]:
    """Return the variables with these places in a request, in their order."""
    found = [known["arg"] for known in operation.accepts if part_of_request(known) in parts]
    return {name: operation.variables[name] for name in found}


def _endpoint_schemas(operation: Operation) -> JsonObject:
    """Return the fields of Endpoint that describe the arguments and the result of a function."""
    in_path = _variables_in(operation, "path")
    return {
        "body": _body(_variables_in(operation, "body", "form")),
        # The schema of the remote service's response is unknown.
        "answer": {},
        "parameters": tuple(
            _parameter(variable, part)
            for part in ("query", "header")
            for variable in _variables_in(operation, part).values()
        ),
        "arguments": {name: _schema(variable) for name, variable in in_path.items()},
    }


def _body(variables: dict[str, Variable]) -> JsonObject | None:
    if not variables:
        return None
    return {
        "type": "object",
        "properties": {name: _schema(variable) for name, variable in variables.items()},
        "required": [name for name, variable in variables.items() if variable.needs_value],
    }


def _parameter(variable: Variable, location: str) -> JsonObject:
    return {
        "name": variable.name,
        "in": location,
        "required": variable.needs_value,
        "schema": _schema(variable),
        **({"description": variable.doc} if variable.doc else {}),
    }


def _schema(variable: Variable) -> JsonObject:
    """Return a variable's schema; the values of a secret variable are left out."""
    schema: JsonObject = {"type": variable.type} if variable.type in TYPES else {}
    if variable.enum and not variable.secret:
        schema["enum"] = list(variable.enum)
    if variable.default is not None and not variable.secret:
        schema["default"] = variable.default
    return schema


def call_function(source: str, operation: Operation, values: JsonObject) -> JsonValue:
    """Call a function of a data source with these arguments.

    Raises ValidationError, which names all invalid arguments, and the errors of `call_remote`.
    """
    _validate(operation, values)
    return call_remote(source, operation.name, lambda: operation(**values))


def _validate(operation: Operation, values: JsonObject) -> None:
    """Raise ValidationError, which names all invalid arguments."""
    problems = {}
    for name in operation.parameters:
        try:
            operation.variables[name].resolve(values.get(name))
        except MissingVariableError:
            problems[name] = [BLANK]
        except VariableError as error:
            problems[name] = [str(error)]
    if problems:
        raise ValidationError(problems)


def respond(operation: Operation, result: JsonValue) -> HttpResponse:
    """Return the response with a result: bytes as they are, anything else as JSON.

    Bytes in a full response are base64. Raises RemoteError for a result that cannot be written as
    JSON, or is larger than `maxResponseBytes`.
    """
    if not isinstance(result, bytes):
        return _bounded(operation, lambda: jsonify(_plain(result)))
    response = _bounded(operation, lambda: make_response(result))
    response.mimetype = "application/octet-stream"
    return response


def respond_with_result(operation: Operation, result: JsonValue) -> HttpResponse:
    """Return the response with `{"result": ...}`, bytes as base64; raises the same errors."""
    text = _as_text(result) if isinstance(result, bytes) else _plain(result)
    return _bounded(operation, lambda: jsonify({"result": text}))


def _plain(result: JsonValue) -> JsonValue:
    """Return a full response as an object; anything else unchanged."""
    if not isinstance(result, Response):
        return result
    body = result.body
    return {
        "statusCode": result.status_code,
        "body": _as_text(body) if isinstance(body, bytes) else body,
    }


def _as_text(data: bytes) -> str:
    return b64encode(data).decode()


def _bounded(operation: Operation, make: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        response = make()
    except (RecursionError, TypeError, ValueError):
        raise RemoteError() from None
    if (response.content_length or 0) > operation.max_bytes:
        raise RemoteError()
    return response
