"""JSON schemas of request bodies and responses, derived from marshmallow schemas."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import marshmallow
from apispec.ext.marshmallow.common import make_schema_key
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask, current_app

from app.fields.base import Integer, Number
from app.problems import describe_error
from app.rest.collection import Collection, served_collections
from app.rest.filters.kinds import INT64
from app.rest.filters.tree import OTHERS
from app.rest.relations import Relation
from app.rest.views.own_endpoints import collection_with

from .aggregate_schemas import aggregate_schema
from .common_schemas import ANY_OBJECT, COMMON_SCHEMAS, any_of, closed, ref
from .filter_schemas import DocumentPart, filter_schema, related_where_name, where_schemas

# The suffix of a schema's second name.
ANSWER, BODY = "Answer", "Body"
# The bounds of an integer without others.
LIMITS = {"minimum": INT64.start, "maximum": INT64.stop - 1}
# The example of a text without one of its own.
TEXT = "text"
# The names of a resource's schemas.
VARIANTS = (
    *("{}", "{}WithRelations", "New{}", "{}Replacement", "{}Partial", "{}Upsert", "{}Filter"),
    *("{}Where", "{}Aggregate"),
)


class Schemas:
    """The named schemas; a marshmallow schema has one for requests and one for responses."""

    def __init__(self, converter: OpenAPIConverter, app: Flask) -> None:
        self._converter = converter
        # Sentences about what cannot be described.
        self.problems: list[str] = []
        # With this type, apispec writes the bounds of a number.
        converter.field_mapping = {**converter.field_mapping, Number: ("number", None)}
        self._converter.add_attribute_function(  # type: ignore[no-untyped-call]
            _json_schema_function(app.config)
        )
        self.named: dict[str, DocumentPart] = dict(COMMON_SCHEMAS)
        resources = served_collections.of(app)
        for resource in resources.values():
            self._add_resource(resource, resources)

    @contextmanager
    def tolerant(self, name: str) -> Iterator[None]:
        """Note an error in a block, which a project's schema or field may have raised."""
        try:
            yield
        except Exception as error:
            self.problems.append(f"{name} cannot be described: {describe_error(error)}")

    def _add_resource(self, resource: Collection, related: Mapping[str, Collection]) -> None:
        """Add the schemas of a resource's requests and responses; `related` are all resources."""
        name = model_name(resource)
        names = [*(variant.format(name) for variant in VARIANTS), related_where_name(resource)]
        self.named |= dict.fromkeys(names, ANY_OBJECT)
        with self.tolerant(resource.name):
            self.named |= _written(self._describe(resource, related))

    def _describe(
        self, resource: Collection, related: Mapping[str, Collection]
    ) -> dict[str, DocumentPart]:
        """Return the schemas of a resource by name."""
        name = model_name(resource)
        text = {"description": resource.resource.description}
        schema, new = (
            text | self._convert(schema) for schema in (resource.schema, resource.create_schema)
        )
        # Schemas that nest this one refer to it by name; nested objects have no protected
        # properties.
        nested = f"{name}WithRelations" if resource.resource.protected else name
        self._converter.refs[make_schema_key(resource.schema)] = nested
        response = _with_nulls(response_schema(_without_withheld(schema, resource)), resource)
        return {
            name: response,
            f"{name}WithRelations": _with_relations(response, resource, related),
            f"New{name}": request_schema(new),
            f"{name}Replacement": request_schema(schema),
            f"{name}Partial": request_schema(schema, partial=True),
            f"{name}Upsert": _upsert(new, resource),
            f"{name}Filter": filter_schema(resource),
            **where_schemas(resource),
            f"{name}Aggregate": aggregate_schema(resource),
        }

    def of_body(self, declared: object, subject: Collection | None) -> DocumentPart:
        """Return the schema of a declared body; names in it refer to schemas of `subject`."""
        return self._schema(declared, request_schema, subject)

    def of_form(self, subject: Collection) -> DocumentPart:
        """Return the schema of a form with the properties of a new row, and its files."""
        new = self.named[f"New{model_name(subject)}"]
        files = {name: {"type": "string", "format": "binary"} for name in subject.files}
        needed = [name for name, field in subject.files.items() if field.required]
        return {
            **_omit(new, "examples"),
            "properties": {**new["properties"], **files},
            "required": [*new.get("required", ()), *needed],
        }

    def of_link(self, relation: Relation, model: Collection | None) -> DocumentPart:
        """Return the schema of a link of a relation, without the ids of both sides.

        `model` is the model whose rows are the links, if it is served.
        """
        if model is None:
            return closed({})
        new = self.named[f"New{model_name(model)}"]
        keys = (relation.foreign_key, relation.target_key)
        ids = [name for name, column in model.properties.items() if column.key in keys]
        return {
            **new,
            "properties": _omit(new["properties"], *ids),
            "required": [name for name in new.get("required", ()) if name not in ids],
            "examples": [_omit(example, *ids) for example in new["examples"]],
        }

    def of_answer(self, declared: object, subject: Collection | None) -> DocumentPart:
        """Return the schema of a declared response; names in it refer to schemas of `subject`."""
        return self._schema(declared, response_schema, subject)

    def _schema(self, declared: Any, variant: Any, subject: Collection | None) -> DocumentPart:
        if isinstance(declared, dict):
            return declared
        if isinstance(declared, list):
            return {"type": "array", "items": self._schema(declared[0], variant, subject)}
        if isinstance(declared, str) and subject is not None:
            return _resolve_names(declared, subject)
        rows = collection_with(declared, subject) if variant is response_schema else None
        if rows is not None:
            return ref(model_name(rows))
        name = declared.__name__.removesuffix("Schema")
        # A schema used for bodies and responses has two names if they differ.
        schema = ANY_OBJECT
        with self.tolerant(name):
            schema = _written(variant(self._convert(declared())))
        if self.named.setdefault(name, schema) != schema:
            name = f"{name}{ANSWER if variant is response_schema else BODY}"
            self.named.setdefault(name, schema)
        return ref(name)

    def _convert(self, schema: marshmallow.Schema) -> DocumentPart:
        converted: DocumentPart = self._converter.schema2jsonschema(schema)  # type: ignore[no-untyped-call]
        if OTHERS in converted["properties"]:
            properties = _omit(converted["properties"], OTHERS)
            converted |= {"properties": properties, "additionalProperties": True}
        return converted


def _written(part: DocumentPart) -> DocumentPart:
    """Return a part of the document; raise TypeError unless it can be written."""
    current_app.json.dumps(part)
    return part


def _resolve_names(text: str, subject: Collection) -> DocumentPart:
    """Resolve declared schema names: `{}` is the model's name, `[...]` an array, `|` anyOf."""
    schemas = [_resolve_name(name, subject) for name in text.split(" | ")]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _resolve_name(text: str, subject: Collection) -> DocumentPart:
    if not text.startswith("["):
        return ref(text.format(model_name(subject)))
    items = {"type": "array", "items": _resolve_name(text.strip("[]"), subject)}
    return {**items, "maxItems": subject.most_new_rows} if "New" in text else items


def model_name(resource: Collection) -> str:
    """Return the model's name, with which the names of its schemas are formed."""
    return str(resource.model.__name__)


def id_schema(resource: Collection, literal: str | None) -> DocumentPart:
    """Return the schema of a row's id in a path; `literal` is the current-user literal."""
    schema = resource.id_form.json_schema
    if literal and resource.is_owner_model:
        return {"anyOf": [_omit(schema, "examples"), {"const": literal}], "examples": [literal]}
    return schema


def response_schema(schema: DocumentPart) -> DocumentPart:
    """Return the schema of a response: the readable properties, required unless nested."""
    properties = {
        name: _omit(property_, "default")
        for name, property_ in schema["properties"].items()
        if not property_.get("writeOnly")
    }
    always = [name for name, property_ in properties.items() if "$ref" not in property_]
    return {
        **schema,
        "properties": properties,
        "required": always,
        "additionalProperties": schema.get("additionalProperties", False),
        "examples": [{name: _example(properties[name]) for name in always}],
    }


def request_schema(schema: DocumentPart, partial: bool = False) -> DocumentPart:
    """Return the schema of a request body: the writable properties, optional if `partial`."""
    properties = {
        name: _omit(property_, "default") if partial else property_
        for name, property_ in schema["properties"].items()
        if not property_.get("readOnly")
    }
    given = [] if partial else schema.get("required", [])
    required = [name for name in given if name in properties]
    body = {
        **_omit(schema, "required"),
        "properties": properties,
        "examples": [_example_of_body(properties, required)],
    }
    return {**body, "required": required} if required else body


def _example_of_body(properties: DocumentPart, required: list[str]) -> DocumentPart:
    """Return an example with all required properties and those with an example of their own."""
    return {
        name: _example(property_)
        for name, property_ in properties.items()
        if name in required or {"examples", "enum"} & property_.keys()
    }


def _json_schema_function(settings: Mapping[str, object]) -> Callable[..., DocumentPart]:
    """Return apispec's attribute function that calls `json_schema` of this service's fields."""

    def own_json_schema(_: object, field: Any, ret: DocumentPart, **kwargs: object) -> DocumentPart:
        own: DocumentPart = field.json_schema(settings) if hasattr(field, "json_schema") else {}
        if "maxLength" in own:
            own["maxLength"] = min(own["maxLength"], ret.get("maxLength", own["maxLength"]))
        if ret.get("default", ...) is None:
            del ret["default"]
        if isinstance(field, Integer):
            # `format` says it: no form should show the bounds of the type.
            for bound in ret.keys() & LIMITS.keys():
                if ret[bound] == LIMITS[bound]:
                    del ret[bound]
        return _or_null(own) if field.allow_none else own

    return own_json_schema


def _upsert(new: DocumentPart, resource: Collection) -> DocumentPart:
    body, key = request_schema(new, partial=True), resource.id_name
    number = _omit(new["properties"][key], "readOnly")
    # Callers who may only change their own rows may not create one in this way.
    if resource.resource.owner is not None and not resource.is_owner_model:
        body["examples"] = [{key: _example(number), **example} for example in body["examples"]]
    return {
        **body,
        "description": f"Updates the row with this `{key}`; without `{key}`, creates one.",
        "properties": {key: number, **body["properties"]},
    }


def _without_withheld(schema: DocumentPart, resource: Collection) -> DocumentPart:
    """Return the schema of a response without properties that only the service reads."""
    return {**schema, "properties": _omit(schema["properties"], *resource.visibility.withheld)}


def _with_nulls(schema: DocumentPart, resource: Collection) -> DocumentPart:
    """Return the schema of a response with null where the column may be NULL.

    A required property may be null in rows that are older than its declaration.
    """
    nullable = {name for name, column in resource.properties.items() if column.nullable}
    properties = {
        name: _or_null(property_) if name in nullable else property_
        for name, property_ in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _or_null(property_: DocumentPart) -> DocumentPart:
    nullable = dict(property_)
    if isinstance(kind := property_.get("type"), str):
        nullable["type"] = [kind, "null"]
    if "enum" in property_ and None not in property_["enum"]:
        nullable["enum"] = [*property_["enum"], None]
    return nullable


def _with_relations(
    schema: DocumentPart, resource: Collection, related: Mapping[str, Collection]
) -> DocumentPart:
    """Return the schema of a filtered response: any properties, and included relations."""
    properties = dict(schema["properties"])
    by_attribute = {column.key: name for name, column in resource.properties.items()}
    for name, relation in resource.shown_relations.items():
        if relation.is_embedded:
            properties[name] = properties[by_attribute[relation.foreign_key]]
            continue
        names = relation.types.values() or [relation.target]
        target = any_of(f"{model_name(related[name])}WithRelations" for name in sorted({*names}))
        properties[name] = {"type": "array", "items": target} if relation.many else target
    return _omit({**schema, "properties": properties}, "required")


def _example(property_: DocumentPart) -> object:
    """Return an example of a property: its own, or one for its type."""
    if "examples" in property_:
        return property_["examples"][0]
    if "enum" in property_:
        return property_["enum"][0]
    kind = property_.get("type")
    if kind == "string":
        return _text(property_)
    if kind in ("integer", "number"):
        return _number(property_)
    return False if kind == "boolean" else None


def _text(property_: DocumentPart) -> str:
    return TEXT.ljust(property_.get("minLength", 0), "x")[: property_.get("maxLength")]


def _number(property_: DocumentPart) -> object:
    return min(max(1, property_.get("minimum", 1)), property_.get("maximum", 1))


def _omit(schema: DocumentPart, *names: str) -> DocumentPart:
    return {name: value for name, value in schema.items() if name not in names}
