"""The JSON schemas of what a function of a data source takes and answers."""

from collections.abc import Mapping
from typing import Any

from app.connector import Operation, Variable

# The JSON schema of each type of a variable; those of the rest say nothing.
TYPES = {"string", "number", "integer", "boolean", "object", "array"}
# The parts of a request that parameters stand in, under OpenAPI's names.
PLACES = {"query": "query", "header": "header"}


def shapes_of(operation: Operation) -> dict[str, Any]:
    """Return the fields of Endpoint that say what a function takes and answers."""
    by_source: dict[str, dict[str, Variable]] = {}
    for each in operation.accepts:
        variables = by_source.setdefault(each["http"]["source"], {})
        variables[each["arg"]] = operation.variables[each["arg"]]
    return {
        "body": _body({**by_source.get("body", {}), **by_source.get("form", {})}),
        # What the remote service answers is not known here.
        "answer": {},
        "parameters": tuple(
            _parameter(name, variable, place)
            for source, place in PLACES.items()
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
        "required": [name for name, variable in variables.items() if _is_needed(variable)],
    }


def _parameter(name: str, variable: Variable, place: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": _is_needed(variable),
        "schema": _schema(variable),
        **({"description": variable.doc} if variable.doc else {}),
    }


def _schema(variable: Variable) -> dict[str, Any]:
    """Return a variable's schema; the default of a secret one is nobody's business."""
    schema: dict[str, Any] = {"type": variable.type} if variable.type in TYPES else {}
    if variable.enum and not variable.secret:
        schema["enum"] = list(variable.enum)
    if variable.default is not None and not variable.secret:
        schema["default"] = variable.default
    return schema


def _is_needed(variable: Variable) -> bool:
    return variable.required and variable.default is None
