"""The JSON schemas of the arguments of a data source's function."""

from collections.abc import Mapping
from typing import Any

from app.connector import Operation, Variable

# The variable types that are JSON schema types too; other types have an empty schema.
TYPES = {"string", "number", "integer", "boolean", "object", "array"}
# OpenAPI's parameter location of each HTTP source.
PARAMETER_LOCATIONS = {"query": "query", "header": "header"}


# The part of a request that has the arguments of a variable for which HTTP has no place.
PARTS = {"options": "header", "method": "query"}


def part_of_request(argument: Mapping[str, Any]) -> str:
    """Return where a request has an argument: `path`, `query`, `header`, `body` or `form`."""
    source: str = argument["http"]["source"]
    return PARTS.get(source, source)


def endpoint_schemas(operation: Operation) -> dict[str, Any]:
    """Return the fields of Endpoint that describe the arguments and the result of a function."""
    by_source: dict[str, dict[str, Variable]] = {}
    for each in operation.accepts:
        variables = by_source.setdefault(part_of_request(each), {})
        variables[each["arg"]] = operation.variables[each["arg"]]
    return {
        "body": _body({**by_source.get("body", {}), **by_source.get("form", {})}),
        # The schema of the remote service's response is unknown.
        "answer": {},
        "parameters": tuple(
            _parameter(name, variable, location)
            for source, location in PARAMETER_LOCATIONS.items()
            for name, variable in by_source.get(source, {}).items()
        ),
        "arguments": {
            name: _schema(variable) for name, variable in by_source.get("path", {}).items()
        },
    }


def _body(variables: Mapping[str, Variable]) -> dict[str, Any] | None:
    if not variables:
        return None
    return {
        "type": "object",
        "properties": {name: _schema(variable) for name, variable in variables.items()},
        "required": [name for name, variable in variables.items() if _is_required(variable)],
    }


def _parameter(name: str, variable: Variable, location: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": location,
        "required": _is_required(variable),
        "schema": _schema(variable),
        **({"description": variable.doc} if variable.doc else {}),
    }


def _schema(variable: Variable) -> dict[str, Any]:
    """Return a variable's schema, without the values of a secret one."""
    schema: dict[str, Any] = {"type": variable.type} if variable.type in TYPES else {}
    if variable.enum and not variable.secret:
        schema["enum"] = list(variable.enum)
    if variable.default is not None and not variable.secret:
        schema["default"] = variable.default
    return schema


def _is_required(variable: Variable) -> bool:
    return variable.required and variable.default is None
