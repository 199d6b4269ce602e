"""The functions of public data sources as endpoints: `/api/geo/geocode`."""

import re
from base64 import b64encode
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

from flask import Flask, current_app, jsonify, make_response, request
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError as InvalidRules

from app.access.policy import Grant
from app.access.rules import AUTHENTICATED, EXECUTE, READ, Rule, allow, parse_rules
from app.config import ConfigurationError
from app.connector import (
    CallTimeoutError,
    ConnectorError,
    DataSource,
    Operation,
    Response,
    VariableError,
)
from app.errors import RemoteError, RemoteTimeout, TooManyCalls, ValidationError
from app.rest.bodies import read_body
from app.rest.endpoint import Endpoint, Route, register_endpoints

from .shapes import shapes_of
from .sources import data_sources

# What data sources, functions and arguments must be called to stand in a path.
SEGMENT = re.compile(r"[A-Za-z]\w*", re.ASCII)


def register_data_sources(app: Flask) -> None:
    """Serve the functions of every public data source under the base path, by its rules."""
    limit = app.config["DATA_SOURCE_CALLS"] or max(1, app.config["THREADS"] // 2)
    app.extensions["datasource_calls"] = BoundedSemaphore(limit)
    for source in data_sources(app).values():
        if source.public:
            _check_names(app, source)
            endpoints = [_endpoint(source.name, each) for each in source.operations.values()]
            register_endpoints(app, source.name, endpoints, _rules(source))


def _check_names(app: Flask, source: DataSource) -> None:
    """Refuse names that cannot stand in a path, or that stand there already."""
    if source.name.lower() in {each.lower() for each in app.blueprints}:
        raise ConfigurationError(f"data source {source.name!r} cannot be public: the name is taken")
    arguments = [name for each in source.operations.values() for name in _of_source(each, "path")]
    for name in (source.name, *source.operations, *arguments):
        if not SEGMENT.fullmatch(name):
            raise ConfigurationError(
                f"data source {source.name!r} cannot be public: {name!r} cannot stand in a path"
            )


def _rules(source: DataSource) -> list[Rule]:
    try:
        if source.acls:
            return parse_rules(source.acls, source.operations)
        return [allow(AUTHENTICATED)]
    except (InvalidRules, ValueError) as error:
        raise ConfigurationError(f"data source {source.name!r}: acls: {error}") from None


def _endpoint(source: str, operation: Operation) -> Endpoint:
    """Return the endpoint of a function: its verb is the template's."""
    path = "".join(
        f"/<path:{name}>" if operation.variables[name].type == "path" else f"/<{name}>"
        for name in _of_source(operation, "path")
    )
    return Endpoint(
        method=operation.name,
        access=READ if operation.method in ("GET", "HEAD") else EXECUTE,
        routes=(Route(operation.method, f"/{operation.name}{path}"),),
        view=_view(source, operation),
        errors=(
            ValidationError({each["arg"]: ["cannot be sent"] for each in operation.accepts[:1]}),
            RemoteError(404),
            RemoteTimeout(),
            TooManyCalls(),
        ),
        **shapes_of(operation),
    )


def _view(source: str, operation: Operation) -> Callable[..., ResponseReturnValue]:
    def call(grant: Grant, **path: str) -> ResponseReturnValue:
        values = _arguments(operation, path)
        _check(operation, values)
        return _answer(operation, _call(source, operation, values))

    call.__doc__ = f"Call {source}.{operation.name}."
    return call


def _of_source(operation: Operation, *sources: str) -> list[str]:
    """Return the arguments that come from these parts of a request, in their order."""
    return [each["arg"] for each in operation.accepts if each["http"]["source"] in sources]


def _arguments(operation: Operation, path: dict[str, str]) -> dict[str, Any]:
    """Collect what the request gives, each argument from the part that its metadata names."""
    values: dict[str, Any] = dict(path)
    for name in _of_source(operation, "query"):
        if given := request.args.getlist(name):
            values[name] = given if len(given) > 1 else given[0]
    for name in _of_source(operation, "header"):
        if name in request.headers:
            values[name] = request.headers[name]
    if in_body := _of_source(operation, "body", "form"):
        body = read_body()
        values.update({name: body[name] for name in in_body if name in body})
    return values


def _check(operation: Operation, values: dict[str, Any]) -> None:
    """Raise ValidationError naming every argument that cannot be sent."""
    problems = {}
    for each in operation.accepts:
        try:
            operation.variables[each["arg"]].resolve(values.get(each["arg"]))
        except VariableError as error:
            problems[each["arg"]] = [str(error)]
    if problems:
        raise ValidationError(problems)


def _call(source: str, operation: Operation, values: dict[str, Any]) -> Any:
    """Call the remote service; its failures become ours, without what it said.

    Slow services keep only so many threads, whoever calls them; the rest serves everything else.
    """
    calls: BoundedSemaphore = current_app.extensions["datasource_calls"]
    if not calls.acquire(blocking=False):
        raise TooManyCalls
    try:
        return operation.invoke(values)
    except VariableError as error:
        raise ValidationError({operation.name: [str(error)]}) from None
    except ConnectorError as error:
        status = getattr(error, "status_code", None)
        kind = type(error).__name__
        current_app.logger.warning("data source %s.%s: %s %s", source, operation.name, kind, status)
        late = isinstance(error, CallTimeoutError)
        raise (RemoteTimeout() if late else RemoteError(status)) from None
    finally:
        calls.release()


def _answer(operation: Operation, result: Any) -> ResponseReturnValue:
    """Repeat a result, as JSON if it is not bytes; the bytes of a full response are base64.

    Raises RemoteError for one that is no JSON, or larger than `maxResponseBytes` when written.
    """
    if isinstance(result, Response):
        result = {"statusCode": result.status_code, "body": _writable(result.body)}
    try:
        response = make_response(result) if isinstance(result, bytes) else jsonify(result)
    except (RecursionError, TypeError, ValueError):
        raise RemoteError() from None
    if isinstance(result, bytes):
        response.mimetype = "application/octet-stream"
    if (response.content_length or 0) > operation.max_bytes:
        raise RemoteError()
    return response


def _writable(body: Any) -> Any:
    return b64encode(body).decode() if isinstance(body, bytes) else body
