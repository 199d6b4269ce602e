"""JSON schemas of bodies and answers, made from marshmallow's."""

from collections.abc import Callable, Mapping
from typing import Any

import marshmallow
from apispec.ext.marshmallow.common import make_schema_key
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask

from app.rest.resource import Resource

from .filter_schemas import filter_schema, where_schema

Json = dict[str, Any]

# What an example has where the schema says no more than the type.
SAMPLES: dict[Any, Any] = {"integer": 1, "number": 1, "boolean": False, "string": "text"}


PROBLEMS = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
COMMON: dict[str, Json] = {
    "Count": {
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 0, "examples": [1]}},
        "required": ["count"],
        "additionalProperties": False,
    },
    "Exists": {
        "type": "object",
        "properties": {"exists": {"type": "boolean", "examples": [True]}},
        "required": ["exists"],
        "additionalProperties": False,
    },
    "ErrorDetail": {
        "type": "object",
        "properties": {
            "statusCode": {"type": "integer"},
            "name": {"type": "string"},
            "code": {"type": "string", "description": "Stable; 5xx have none."},
            "message": {"type": "string"},
            "details": {
                "type": "object",
                "description": "What is wrong with each property, in words and by code; or the "
                "status that a remote service answered.",
                "properties": {
                    "messages": PROBLEMS,
                    "codes": PROBLEMS,
                    "statusCode": {"type": "integer"},
                },
                "additionalProperties": False,
            },
        },
        "required": ["statusCode", "name", "message"],
        "additionalProperties": False,
    },
    "Error": {
        "type": "object",
        "description": "What every error looks like.",
        "properties": {
            "status": {"type": "integer"},
            "message": {"type": "string"},
            "error": {"$ref": "#/components/schemas/ErrorDetail"},
        },
        "required": ["status", "message", "error"],
        "additionalProperties": False,
    },
}


class Schemas:
    """The document's schemas, each under its name; one of marshmallow's serves one direction."""

    def __init__(self, converter: OpenAPIConverter, app: Flask) -> None:
        self._converter = converter
        self._converter.add_attribute_function(  # type: ignore[no-untyped-call]
            _own_json_schema_function(app.config)
        )
        self.named: dict[str, Json] = dict(COMMON)
        resources: dict[str, Resource] = app.extensions["resources"]
        for resource in resources.values():
            self._add_resource(resource, resources)

    def _add_resource(self, resource: Resource, related: Mapping[str, Resource]) -> None:
        """Add what a collection takes and gives; `related` are the resources by name."""
        name = model_name(resource)
        whole, new = (
            self._whole(resource.schema_instance),
            self._whole(resource.create_schema_instance),
        )
        # What nests this schema refers to it by name.
        self._converter.refs[make_schema_key(resource.schema_instance)] = name
        self.named |= {
            name: answer(whole),
            f"{name}WithRelations": _with_relations(answer(whole), resource, related),
            f"New{name}": body(new),
            f"{name}Replacement": body(whole),
            f"{name}Partial": body(whole, partial=True),
            f"{name}Upsert": _upsert(new),
            f"{name}Filter": filter_schema(resource),
            f"{name}Where": where_schema(resource),
        }

    def of_body(self, shape: Any, subject: Resource | None) -> Json:
        """Return the schema of a body; `subject` is the resource whose schemas it may name."""
        return self._schema(shape, body, subject)

    def of_answer(self, shape: Any, subject: Resource | None) -> Json:
        """Return the schema of an answer; `subject` is the resource whose schemas it may name."""
        return self._schema(shape, answer, subject)

    def _schema(self, shape: Any, variant: Any, subject: Resource | None) -> Json:
        if isinstance(shape, dict):
            return shape
        if isinstance(shape, list):
            return {"type": "array", "items": self._schema(shape[0], variant, subject)}
        if isinstance(shape, str) and subject is not None:
            return _named(shape, subject)
        name = shape.__name__.removesuffix("Schema")
        if name not in self.named:
            self.named[name] = variant(self._whole(shape()))
        return ref(name)

    def _whole(self, schema: marshmallow.Schema) -> Json:
        whole: Json = self._converter.schema2jsonschema(schema)  # type: ignore[no-untyped-call]
        text = (type(schema).__doc__ or "").partition("\n")[0]
        return {"description": text, **whole}


def _named(text: str, subject: Resource) -> Json:
    """Read the names of a resource's schemas: `{}` is its model, `[...]` an array, `|` or."""
    schemas = [_named_one(each, subject) for each in text.split(" | ")]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _named_one(text: str, subject: Resource) -> Json:
    if not text.startswith("["):
        return ref(text.format(model_name(subject)))
    items = {"type": "array", "items": _named_one(text.strip("[]"), subject)}
    return {**items, "maxItems": subject.max_create} if "New" in text else items


def model_name(resource: Resource) -> str:
    """Return what the schemas of a resource are named after."""
    return str(resource.model.__name__)


def ref(name: str) -> Json:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def id_schema(resource: Resource, literal: str | None) -> Json:
    """Return the schema of a row's id in a path; `literal` may stand for the caller's own."""
    number = {"type": "integer", "minimum": 1}
    if literal and resource.is_owner_model:
        return {"anyOf": [number, {"const": literal}], "examples": [literal]}
    return {**number, "examples": [1]}


def answer(whole: Json) -> Json:
    """Return the schema of an answer: what can be read, and but for nested objects all of it."""
    properties = {
        name: _without(shape, "default")
        for name, shape in whole["properties"].items()
        if not shape.get("writeOnly")
    }
    always = [name for name, shape in properties.items() if "$ref" not in shape]
    return {
        **whole,
        "properties": properties,
        "required": always,
        "additionalProperties": False,
        "examples": [{name: _sample(properties[name]) for name in always}],
    }


def body(whole: Json, partial: bool = False) -> Json:
    """Return the schema of a body: what can be written; a partial one needs none of it."""
    properties = {
        name: _without(shape, "default") if partial else shape
        for name, shape in whole["properties"].items()
        if not shape.get("readOnly")
    }
    required = [] if partial else whole.get("required", [])
    told = [name for name, shape in properties.items() if "examples" in shape or name in required]
    shape = {
        **_without(whole, "required"),
        "properties": properties,
        "examples": [{name: _sample(properties[name]) for name in told}],
    }
    return {**shape, "required": required} if required else shape


def _own_json_schema_function(settings: Mapping[str, Any]) -> Callable[..., Json]:
    """Return the function that lets fields of our own say what apispec cannot know of them."""

    def own_json_schema(_: object, field: Any, **kwargs: Any) -> Json:
        return field.json_schema(settings) if hasattr(field, "json_schema") else {}

    return own_json_schema


def _upsert(new: Json) -> Json:
    shape = body(new, partial=True)
    number = _without(new["properties"]["id"], "readOnly")
    return {
        **shape,
        "description": "With `id` a change of the one that has it, without a new one.",
        "properties": {"id": number, **shape["properties"]},
    }


def _with_relations(shape: Json, resource: Resource, related: Mapping[str, Resource]) -> Json:
    """Return the schema of what a filter may make of an answer: less, and related objects."""
    properties = dict(shape["properties"])
    for name, relation in resource.relations.items():
        target = ref(f"{model_name(related[relation.target])}WithRelations")
        properties[name] = {"type": "array", "items": target} if relation.many else target
    return _without({**shape, "properties": properties}, "required")


def _sample(shape: Json) -> Any:
    if "examples" in shape:
        return shape["examples"][0]
    kind = shape.get("type")
    return None if isinstance(kind, list) else SAMPLES.get(kind)


def _without(shape: Json, *names: str) -> Json:
    return {name: value for name, value in shape.items() if name not in names}
