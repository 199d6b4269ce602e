"""The JSON schemas of the arguments of a data source's function."""

from app.connector import Operation, Variable
from app.connector.operation.parameters import Argument
from app.connector.types import JsonObject

# The variable types that are JSON Schema types too; others have an empty schema.
TYPES = {"string", "number", "integer", "boolean", "object", "array"}
# The part of a request for arguments of a variable that has no place in HTTP.
PARTS = {"options": "header", "method": "query"}


def part_of_request(argument: Argument) -> str:
    """Return the place of an argument in a request: `path`, `query`, `header`, `body` or `form`."""
    source = argument["http"]["source"]
    return PARTS.get(source, source)


def variables_in(operation: Operation, *parts: str) -> dict[str, Variable]:
    """Return the variables with these places in a request, in their order."""
    found = [known["arg"] for known in operation.accepts if part_of_request(known) in parts]
    return {name: operation.variables[name] for name in found}


def endpoint_schemas(operation: Operation) -> JsonObject:
    """Return the fields of Endpoint that describe the arguments and the result of a function."""
    in_path = variables_in(operation, "path")
    return {
        "body": _body(variables_in(operation, "body", "form")),
        # The schema of the remote service's response is unknown.
        "answer": {},
        "parameters": tuple(
            _parameter(variable, part)
            for part in ("query", "header")
            for variable in variables_in(operation, part).values()
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
