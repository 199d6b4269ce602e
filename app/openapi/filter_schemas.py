"""The JSON schemas of a resource's filters."""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Enum

from app.database import columns
from app.database.ids import IdColumn
from app.rest.collection import Collection
from app.rest.filters.bounds import MAX_ITEMS
from app.rest.filters.distances import RADIUS
from app.rest.filters.filter import KEYS, MAX_LIMIT, MAX_ORDER, MAX_SKIP
from app.rest.filters.json_paths import MAX_STEPS, STEP
from app.rest.filters.operators import holds_text, operators_for
from app.rest.filters.patterns import LIKE, MAX_PATTERN
from app.rest.filters.regexps import REGEXP
from app.rest.filters.targets import OTHERS, Column

Json = dict[str, Any]

TYPES: dict[type, Json] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Decimal: {"type": "string", "format": "decimal"},
    UUID: {"type": "string", "format": "uuid"},
    # An array is compared with an item.
    list: {"type": "string"},
}
TEXT = {"type": "string"}
NEAR: Json = {
    "near": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"lat": TYPES[float], "lng": TYPES[float]},
                "required": ["lat", "lng"],
            },
            TEXT,
        ]
    },
    "maxDistance": TYPES[float],
    "minDistance": TYPES[float],
    "unit": {"enum": list(RADIUS), "default": "miles"},
}
WHOLE_NUMBER = {"type": "integer", "minimum": 0, "maximum": MAX_SKIP}


def filter_schema(resource: Collection) -> Json:
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
        "include": _includes(list(resource.relations)),
        "order": {
            "anyOf": [TEXT, {"type": "array", "items": TEXT, "maxItems": MAX_ORDER}],
            "description": "A property, with ASC or DESC after it, or several.",
        },
        "limit": {**WHOLE_NUMBER, "description": f"At most {MAX_LIMIT}, which is the default."},
    }
    properties = {name: known.get(name, WHOLE_NUMBER) for name in sorted(KEYS)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def where_schema(resource: Collection) -> Json:
    """Return the schema of a `where` of this resource."""
    own = {"$ref": f"#/components/schemas/{resource.model.__name__}Where"}
    several = {"type": "array", "items": own}
    conditions = {
        name: _condition(column) for name, column in resource.properties.items() if name != OTHERS
    }
    objects = [
        name for name, column in resource.properties.items() if column.type.python_type is dict
    ]
    paths: Json = (
        {"patternProperties": {_paths_in(name): {} for name in objects}} if objects else {}
    )
    return {
        "type": "object",
        "properties": {**conditions, "and": several, "or": several},
        **paths,
        "additionalProperties": OTHERS in resource.properties,
    }


def _paths_in(name: str) -> str:
    """Return the pattern of paths in a property that holds an object."""
    step = STEP.pattern.replace(r"\w", "A-Za-z0-9_")
    return rf"^{re.escape(name)}(\.{step}){{1,{MAX_STEPS}}}$"


def _includes(relations: list[str]) -> Json:
    # JSON Schema allows no empty enum.
    if not relations:
        return {"type": "array", "items": TEXT, "maxItems": 0}
    name = {"enum": relations}
    scoped = {"relation": name, "scope": {"type": "object", "description": "A filter."}}
    scope = {"type": "object", "properties": scoped, "required": ["relation"]}
    return {"type": "array", "items": {"anyOf": [name, scope]}}


def _condition(column: Column) -> Json:
    """Return the schema of a condition on a property: a value, or operators with operands."""
    kind = column.type.python_type
    value, is_text = _value(column), holds_text(column.type)
    operators = {
        word: _operand(word, value)
        for word in operators_for(column)
        if is_text or word not in (*LIKE, *REGEXP)
    }
    if is_text:
        operators["options"] = {"const": "i"}
    if kind is columns.Position:
        operators |= NEAR
    conditions = {"type": "object", "properties": operators, "additionalProperties": False}
    direct = [value] if kind in TYPES else []
    return {"anyOf": [*direct, {"type": "null"}, conditions]}


def _value(column: Column) -> Json:
    if isinstance(column.type, Enum):
        return {"enum": list(column.type.enums)}
    if isinstance(column.type, columns.Json) and column.type.items is float:
        return TYPES[float]
    if isinstance(column.type, IdColumn) and column.type.python_type is str:
        schema = column.type.form.json_schema
        return {name: each for name, each in schema.items() if name != "examples"}
    return TYPES.get(column.type.python_type, {"type": "null"})


def _operand(word: str, value: Json) -> Json:
    if word == "between":
        return {"type": "array", "items": value, "minItems": 2, "maxItems": 2}
    if word in ("inq", "nin"):
        return {"type": "array", "items": value, "maxItems": MAX_ITEMS}
    if word == "exists":
        return TYPES[bool]
    return {**value, "maxLength": MAX_PATTERN} if word in (*LIKE, *REGEXP) else value
