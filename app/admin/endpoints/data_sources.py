"""The data sources, with calls of their functions, and the identity providers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from flask.typing import ResponseReturnValue

from app import errors
from app.access.rules import EXECUTE, READ
from app.admin.calls import call
from app.admin.schemas import ArgumentsSchema, DataSourceSchema, ProviderSchema, ResultSchema
from app.datasources import data_sources
from app.oauth import clients
from app.oauth.linking import count_users
from app.rest.requests.bodies import Body

if TYPE_CHECKING:
    from app.connector import DataSource, Operation

# The connector of all data sources.
REST = "rest"
OPENID, OAUTH = "OpenID Connect", "OAuth 2.0"


@call(
    "findDataSources",
    READ,
    "GET /dataSources",
    answer=[DataSourceSchema],
    summary="List the data sources and their functions, without secrets",
)
def find_data_sources() -> list[Mapping[str, object]]:
    """List the data sources and their functions, without secrets."""
    return [
        {
            "name": name,
            "connector": REST,
            "public": source.public,
            "functions": [*map(_describe, source.operations.values())],
        }
        for name, source in data_sources.current.items()
    ]


@call(
    "callDataSource",
    EXECUTE,
    "POST /dataSources/<name>/<function>",
    body=ArgumentsSchema,
    answer=ResultSchema,
    errors=(
        errors.ModelNotFound("dataSource", "geo"),
        errors.ValidationError({"street": [errors.BLANK]}),
        errors.RemoteError(404),
        errors.RemoteTimeout(),
        errors.TooManyCalls(),
    ),
    summary=(
        "Call a function of a data source with the arguments of the body, even if it is not public"
    ),
)
def call_data_source(name: str, function: str, body: Body) -> ResponseReturnValue:
    """Call a function of a data source with the arguments of the body, even if it is not public."""
    operation = _find(name, function)
    if unknown := body.keys() - {*operation.parameters}:
        known = ", ".join(operation.parameters) or "none"
        raise errors.ValidationError(
            {argument: [f"is no argument; there are {known}"] for argument in sorted(unknown)}
        )
    # Imported here, because services without data sources do not load the connector.
    functions = import_module("app.datasources.endpoints")
    response: ResponseReturnValue = functions.respond_with_result(
        operation, functions.call_function(name, operation, body)
    )
    return response


def _find(name: str, function: str) -> "Operation":
    source: DataSource | None = data_sources.current.get(name)
    if source is None:
        raise errors.ModelNotFound("dataSource", name)
    if function not in source.operations:
        raise errors.ModelNotFound("function", function)
    return source.operations[function]


def _describe(operation: "Operation") -> Mapping[str, object]:
    return {
        "name": operation.name,
        "verb": operation.method,
        "url": operation.template["url"],
        "parameters": [*_parameters(operation)],
    }


def _parameters(operation: "Operation") -> Iterator[Mapping[str, object]]:
    template = json.dumps(operation.template)
    for argument in operation.accepts:
        variable = operation.variables[argument["arg"]]
        # A variable that occurs only in a secret is masked in the template.
        is_masked = not re.search(rf"[{{!^]{re.escape(variable.name)}\b", template)
        yield {
            "name": variable.name,
            "source": argument["http"]["source"],
            "type": variable.type,
            "required": variable.needs_value,
            "default": None if variable.secret or is_masked else variable.default,
        }


@call(
    "findProviders",
    READ,
    "GET /providers",
    answer=[ProviderSchema],
    summary="List the identity providers, each with the number of users who can log in by it",
)
def find_providers() -> Sequence[Mapping[str, object]]:
    """List the identity providers, each with the number of users who can log in by it."""
    providers = [client.provider for client in clients.current.values()]
    return [
        {
            "name": provider.name,
            "label": provider.label,
            "protocol": OPENID if provider.preset.is_openid else OAUTH,
            "issuer": provider.issuer,
            "users": count_users(provider.issuer),
        }
        for provider in providers
    ]
