"""The JSON schemas of a resource's filters."""

from typing import Any

from app.rest.bounds import MAX_ITEMS
from app.rest.filters import KEYS, MAX_LIMIT, MAX_ORDER, MAX_SKIP
from app.rest.patterns import LIKE, MAX_PATTERN
from app.rest.resource import Resource
from app.rest.where import COERCIONS, OPERATORS, Column

Json = dict[str, Any]

TYPES: dict[type, Json] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
}
TIME = {"type": "string", "format": "date-time"}
TEXT = {"type": "string"}
WHOLE_NUMBER = {"type": "integer", "minimum": 0, "maximum": MAX_SKIP}


def filter_schema(resource: Resource) -> Json:
    """Return the schema of a filter of this resource."""
    names = {"enum": list(resource.properties)}
    known: Json = {
        "where": {"$ref": f"#/components/schemas/{resource.model.__name__}Where"},
        "fields": {
            "anyOf": [
                {"type": "array", "items": names},
                {"type": "object", "propertyNames": names, "additionalProperties": TYPES[bool]},
            ]
        },
        "include": {"type": "array", "items": _inclusion(list(resource.relations))},
        "order": {
            "anyOf": [TEXT, {"type": "array", "items": TEXT, "maxItems": MAX_ORDER}],
            "description": "A property, with ASC or DESC after it, or several.",
        },
        "limit": {**WHOLE_NUMBER, "description": f"At most {MAX_LIMIT}, which is the default."},
    }
    properties = {name: known.get(name, WHOLE_NUMBER) for name in sorted(KEYS)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def where_schema(resource: Resource) -> Json:
    """Return the schema of a `where` of this resource."""
    own = {"$ref": f"#/components/schemas/{resource.model.__name__}Where"}
    several = {"type": "array", "items": own}
    return {
        "type": "object",
        "properties": {
            **{
                name: _condition(column)
                for name, column in resource.properties.items()
                if column.type.python_type in COERCIONS
            },
            "and": several,
            "or": several,
        },
        "additionalProperties": False,
    }


def _inclusion(relations: list[str]) -> Json:
    name = {"enum": relations}
    scoped = {"relation": name, "scope": {"type": "object", "description": "A filter."}}
    return {
        "anyOf": [name, {"type": "object", "properties": scoped, "required": ["relation"]}],
    }


def _condition(column: Column) -> Json:
    """Return the schema of a condition on a property: a value, or operators with operands."""
    kind = column.type.python_type
    value = TYPES.get(kind, TIME)
    operators = {
        word: _operand(word, value) for word in OPERATORS if kind is str or word not in LIKE
    }
    return {
        "anyOf": [
            value,
            {"type": "null"},
            {"type": "object", "properties": operators, "additionalProperties": False},
        ]
    }


def _operand(word: str, value: Json) -> Json:
    if word == "between":
        return {"type": "array", "items": value, "minItems": 2, "maxItems": 2}
    if word in ("inq", "nin"):
        return {"type": "array", "items": value, "maxItems": MAX_ITEMS}
    return {**value, "maxLength": MAX_PATTERN} if word in LIKE else value
