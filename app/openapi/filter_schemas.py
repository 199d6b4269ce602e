"""The JSON schemas of a resource's filters."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.rest.collection import Collection
from app.rest.filters.bounds import MAX_ITEMS, MAX_PATTERN
from app.rest.filters.kinds import BOOLEAN, NUMBER, Kind, Shape
from app.rest.filters.operators import OPERATORS, RADIUS
from app.rest.filters.parser import KEYS, MAX_CURSOR, MAX_ORDER, MAX_SKIP, MAX_STEPS, STEP
from app.rest.filters.patterns import PATTERN_OPERATORS
from app.rest.filters.related import QUANTIFIERS
from app.rest.filters.tree import MAX_LIMIT, OTHERS

DocumentPart = dict[str, Any]


TEXT = {"type": "string"}
NULL = {"type": "null"}
NEAR: DocumentPart = {
    "near": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"lat": NUMBER.schema, "lng": NUMBER.schema},
                "required": ["lat", "lng"],
            },
            TEXT,
        ]
    },
    "maxDistance": NUMBER.schema,
    "minDistance": NUMBER.schema,
    "unit": {"enum": list(RADIUS), "default": "miles"},
}
ORDER: DocumentPart = {
    "anyOf": [TEXT, {"type": "array", "items": TEXT, "maxItems": MAX_ORDER}],
    "description": "Properties with ASC or DESC after each, with commas or as a list.",
}
CURSOR: DocumentPart = {
    "type": "string",
    "maxLength": MAX_CURSOR,
    "description": "The cursor in the `Link` header of a list, after which a page of the same order"
    " begins; in place of `skip`.",
}
WHOLE_NUMBER = {"type": "integer", "minimum": 0, "maximum": MAX_SKIP}


def filter_schema(resource: Collection) -> DocumentPart:
    """Return the schema of a filter of this resource."""
    names = {"enum": [name for name in resource.filterable if name != OTHERS]}
    known: DocumentPart = {
        "where": {"$ref": f"#/components/schemas/{_where_name(resource)}"},
        "fields": {
            "anyOf": [
                {"type": "array", "items": names},
                {"type": "object", "propertyNames": names, "additionalProperties": BOOLEAN.schema},
            ]
        },
        "include": _includes(list(resource.shown_relations)),
        "order": ORDER,
        "limit": {**WHOLE_NUMBER, "description": f"At most {MAX_LIMIT}, which is the default."},
        "after": CURSOR,
    }
    properties = {name: known.get(name, WHOLE_NUMBER) for name in sorted(KEYS)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def where_schemas(resource: Collection) -> dict[str, DocumentPart]:
    """Return the schemas of a `where` of this resource, and of its rows by relations, by name.

    They are the same unless relations do not show all properties.
    """
    name, protected = _where_name(resource), resource.resource.protected
    schemas = {name: _where_schema(resource, name, resource.filterable, resource.shown_relations)}
    if protected:
        name = related_where_name(resource)
        relations = [relation for relation in resource.shown_relations if relation not in protected]
        schemas[name] = _where_schema(resource, name, resource.included_model.properties, relations)
    return schemas


def _where_name(resource: Collection) -> str:
    return f"{resource.model.__name__}Where"


def related_where_name(resource: Collection) -> str:
    """Return the name of the schema of a `where` for rows to which relations lead."""
    is_same = not resource.resource.protected
    return _where_name(resource) if is_same else f"{resource.model.__name__}RelatedWhere"


def _where_schema(
    resource: Collection, name: str, kinds: Mapping[str, Kind], relations: Iterable[str]
) -> DocumentPart:
    own = {"$ref": f"#/components/schemas/{name}"}
    several = {"type": "array", "items": own}
    conditions = {name: _condition(kind) for name, kind in kinds.items() if name != OTHERS}
    objects = [name for name, kind in kinds.items() if kind.shape is Shape.OBJECT]
    paths: DocumentPart = (
        {"patternProperties": {_paths_in(name): {} for name in objects}} if objects else {}
    )
    related = dict(_related_conditions(resource, relations))
    examples = [{name: {"exists": True}} for name in related][:1]
    return {
        "type": "object",
        "properties": {**related, **conditions, "and": several, "or": several},
        **paths,
        "additionalProperties": OTHERS in kinds,
        **({"examples": examples} if examples else {}),
    }


def _related_conditions(
    resource: Collection, relations: Iterable[str]
) -> Iterator[tuple[str, DocumentPart]]:
    """Yield the relations that filters may use, each with the schema of its conditions."""
    for name, related in resource.filtered_model.usable(relations):
        target = resource.target(resource.relations[name])
        yield name, _related_condition(related_where_name(target), related.is_many)


def _related_condition(schema: str, is_many: bool) -> DocumentPart:
    where = {"$ref": f"#/components/schemas/{schema}"}
    quantified = dict.fromkeys(QUANTIFIERS, where) if is_many else {}
    words: DocumentPart = {
        "type": "object",
        "properties": {**quantified, "exists": BOOLEAN.schema},
        "minProperties": 1,
        "additionalProperties": False,
    }
    return {"anyOf": [words, where]}


def _paths_in(name: str) -> str:
    """Return the pattern of paths in a property that holds an object."""
    step = STEP.pattern.replace(r"\w", "A-Za-z0-9_")
    return rf"^{re.escape(name)}(\.{step}){{1,{MAX_STEPS}}}$"


def _includes(relations: list[str]) -> DocumentPart:
    # JSON Schema allows no empty enum.
    if not relations:
        return {"type": "array", "items": TEXT, "maxItems": 0}
    name = {"enum": relations}
    scoped = {"relation": name, "scope": {"type": "object", "description": "A filter."}}
    scope = {"type": "object", "properties": scoped, "required": ["relation"]}
    return {"type": "array", "items": {"anyOf": [name, scope]}}


def _condition(kind: Kind) -> DocumentPart:
    """Return the schema of a condition on a property: a value, or operators with operands."""
    operators = {
        word: _operand(word, kind)
        for word in OPERATORS[kind.shape]
        if kind.is_text or word not in PATTERN_OPERATORS
    }
    if kind.is_text:
        operators["options"] = {"const": "i"}
    if kind.shape is Shape.POSITION:
        operators |= NEAR
    conditions = {"type": "object", "properties": operators, "additionalProperties": False}
    values = [value for value in (kind.schema, NULL) if value]
    return {"anyOf": [*values, conditions]}


def _operand(word: str, kind: Kind) -> DocumentPart:
    value = dict(kind.schema or NULL)
    if word == "between":
        return {"type": "array", "items": value, "minItems": 2, "maxItems": 2}
    if word in ("inq", "nin"):
        return {"type": "array", "items": value, "maxItems": MAX_ITEMS}
    if word == "exists":
        return dict(BOOLEAN.schema or {})
    return {**value, "maxLength": MAX_PATTERN} if word in PATTERN_OPERATORS else value
