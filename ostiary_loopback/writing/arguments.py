"""The arguments and answers of remote methods, in Python and OpenAPI."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript.finding import RemoteMethod

from .models import resource_name
from .python import function_name, literal

# The sources of arguments that LoopBack 3 provides, and no client sends.
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
# Types of arrays whose items are not checked; items of unknown types are objects.
UNCHECKED = (*ANY, "", "integer", "boolean", "date", "geopoint")
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
    # A source that is not a text is a function, which computes the value.
    if not isinstance(name, str) or source in OF_SERVER or not isinstance(source, str | None):
        return None
    if any(f":{name}" in route["path"].split("/") for route in method.http):
        source = "path"
    if source not in ("path", "query", "header", "body"):
        has_body = all(route["verb"] not in WITHOUT_BODY for route in method.http)
        source = "form" if has_body else "query"
    return Argument(name, source, declared.get("type"), declared.get("required") is True)


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
    """Return True if a name can be assigned to: if it is not a keyword."""
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
        return (RAW, "") if item in UNCHECKED else ("fields.Array", ITEMS.get(item, "dict"))
    name = type_.lower() if isinstance(type_, str) else "any"
    if name in ANY:
        return RAW, ""
    # Other names are names of models.
    field = FIELDS.get(name, FIELDS["object"])
    return field, FIRST_ARGUMENTS.get(field, "")


def parameters_of(arguments: Sequence[Argument]) -> list[Mapping[str, object]]:
    """Return the parameters in the query and in headers, as OpenAPI has them."""
    return [
        {
            "name": argument.name,
            "in": argument.source,
            "required": argument.is_required,
            "schema": _schema_of(argument.type),
        }
        for argument in arguments
        if argument.source in ("query", "header")
    ]


@dataclass(frozen=True)
class Types:
    """Converts the types of LoopBack 3 in a method of a model."""

    application: Application
    model: Model

    def body_of(self, arguments: Sequence[Argument]) -> str:
        """Return the argument `body` of an endpoint for which one argument is the whole of it."""
        types = [argument.type for argument in arguments if argument.source == "body"]
        return literal(self._json(types[0], "Partial")) if types else ""

    def answer_of(self, method: RemoteMethod) -> str:
        """Return the argument `answer` of an endpoint; empty if there is none."""
        for declared in method.returns:
            if declared.get("root") is True:
                type_ = declared.get("type")
                return self._rows(type_) or literal(self._json(type_))
        named = {
            str(item["arg"]): self._json(item.get("type"))
            for item in method.returns
            if "arg" in item
        }
        return literal({"type": "object", "properties": named}) if method.returns else ""

    def _rows(self, type_: object) -> str:
        """Return the schema of a model as `extend` finds it, in a list for an array of rows."""
        if isinstance(type_, list):
            inner = self._rows(type_[0]) if len(type_) == 1 else ""
            return f"[{inner}]" if inner else ""
        name = resource_name(self.application, str(type_))
        if not name:
            return ""
        is_own = type_ == self.model.name
        return "resource.schema" if is_own else f"get_resource({literal(name)}).schema"

    def _json(self, type_: object, variant: str = "") -> Mapping[str, object]:
        """Return the JSON schema of a type; `variant` is that of models, such as `Partial`."""
        if isinstance(type_, list):
            return {"type": "array", "items": self._json(type_[0], variant) if type_ else {}}
        if resource_name(self.application, str(type_)):
            return {"$ref": f"#/components/schemas/{type_}{variant}"}
        return _schema_of(type_)


def _schema_of(type_: object) -> Mapping[str, object]:
    """Return the JSON schema of a type that is not a model."""
    if isinstance(type_, list):
        return {"type": "array", "items": _schema_of(type_[0]) if type_ else {}}
    name = type_.lower() if isinstance(type_, str) else "any"
    return SCHEMAS.get(name, {"type": "object"})
