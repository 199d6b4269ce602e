"""The arguments and answers of remote methods, as Python and OpenAPI write them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.loopback.javascript.finding import RemoteMethod

from .python import function_name, literal

# What LoopBack 3 gives to a method, and no client sends.
OF_SERVER = ("context", "req", "res", "optionsFromRequest", "optionsFromContext")
# Verbs of requests that have no body.
WITHOUT_BODY = ("get", "head", "delete")
RAW = "marshmallow.fields.Raw"
FIELDS = {
    "string": "fields.Text",
    "number": "fields.Number",
    "integer": "fields.Integer",
    "boolean": "fields.Boolean",
    "date": "fields.Timestamp",
    "object": "fields.Object",
    "geopoint": "fields.GeoPointField",
}
FIRST_ARGUMENTS = {"fields.Text": "10_000, multiline=True"}
ITEMS = {"string": "str", "number": "float"}
ANY = ("any", "file", "buffer", "array", "readablefile", "readable")
SCHEMAS: Mapping[str, Mapping[str, object]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date-time"},
    "array": {"type": "array", "items": {}},
    "file": {"type": "string", "format": "binary"},
    "readablefile": {"type": "string", "format": "binary"},
    "any": {"description": "Any value."},
}


class Argument(NamedTuple):
    """An argument of a remote method that clients send."""

    name: str
    # path, query, header, body (the whole of it) or form (a property of the body)
    source: str
    type: object
    is_required: bool


def arguments_of(method: RemoteMethod) -> list[Argument]:
    """Return the arguments that clients send."""
    found = [_argument(method, declared) for declared in method.accepts]
    return [argument for argument in found if argument is not None]


def _argument(method: RemoteMethod, declared: Mapping[str, Any]) -> Argument | None:
    http, name = declared.get("http"), declared.get("arg")
    source = http.get("source") if isinstance(http, Mapping) else http
    # A source that is no text is a function, which computes the value.
    if not isinstance(name, str) or source in OF_SERVER or not isinstance(source, str | None):
        return None
    if any(f":{name}" in route["path"].split("/") for route in method.http):
        source = "path"
    if source not in ("path", "query", "header", "body"):
        has_body = all(route["verb"] not in WITHOUT_BODY for route in method.http)
        source = "form" if has_body else "query"
    return Argument(name, source, declared.get("type"), declared.get("required") is True)


def body_of(arguments: Sequence[Argument], schema: str) -> str:
    """Return the argument `body` of an endpoint; `schema` is the class of its fields."""
    if any(argument.source == "form" for argument in arguments):
        return schema
    return "" if not any(a.source == "body" for a in arguments) else '{"type": "object"}'


def schema_lines(arguments: Sequence[Argument]) -> Iterator[str]:
    """Yield the fields of a body, one a line."""
    taken = ["fields", "marshmallow"]
    for argument in arguments:
        if argument.source == "form":
            name = argument.name
            if not name.isidentifier() or not name.isascii() or name.startswith("__"):
                name = function_name(name, taken)
            name = function_name(name, taken) if name in taken or not _is_free(name) else name
            taken.append(name)
            yield f"{name} = {_field(argument, name)}"


def _is_free(name: str) -> bool:
    """Tell whether a name can be assigned to: whether it is no keyword."""
    return function_name(name) != f"_{name}"


def _field(argument: Argument, name: str) -> str:
    field, first = field_of(argument.type)
    options = [first] if first else []
    options.append("required=True" if argument.is_required else "allow_none=True")
    if name != argument.name:
        options.append(f"data_key={literal(argument.name)}")
    return f"{field}({', '.join(options)})"


def field_of(type_: object) -> tuple[str, str]:
    """Return the field of a type of LoopBack 3, and its first arguments."""
    if isinstance(type_, list):
        item = str(type_[0]).lower() if type_ else ""
        return ("fields.Array", ITEMS[item]) if item in ITEMS else (RAW, "")
    name = type_.lower() if isinstance(type_, str) else "any"
    if name in ANY:
        return RAW, ""
    # Other names are those of models.
    field = FIELDS.get(name, FIELDS["object"])
    return field, FIRST_ARGUMENTS.get(field, "")


def parameters_of(arguments: Sequence[Argument]) -> list[Mapping[str, object]]:
    """Return the parameters in the query and in headers, as OpenAPI has them."""
    return [
        {
            "name": argument.name,
            "in": argument.source,
            "required": argument.is_required,
            "schema": schema_of(argument.type),
        }
        for argument in arguments
        if argument.source in ("query", "header")
    ]


def answer_of(method: RemoteMethod) -> Mapping[str, object] | None:
    """Return the JSON schema of the answer; None if there is none."""
    if not method.returns:
        return None
    for declared in method.returns:
        if declared.get("root") is True:
            return schema_of(declared.get("type"))
    named = {
        str(item["arg"]): schema_of(item.get("type")) for item in method.returns if "arg" in item
    }
    return {"type": "object", "properties": named}


def schema_of(type_: object) -> Mapping[str, object]:
    """Return the JSON schema of a type of LoopBack 3."""
    if isinstance(type_, list):
        return {"type": "array", "items": schema_of(type_[0]) if type_ else {}}
    name = type_.lower() if isinstance(type_, str) else "any"
    return SCHEMAS.get(name, {"type": "object"})
