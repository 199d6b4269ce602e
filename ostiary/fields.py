"""Fields of schemas: what clients read and write."""

from app.rest.fields.base import (
    Boolean,
    Date,
    Decimal,
    Enumeration,
    Int32,
    Integer,
    Number,
    Schema,
    Text,
    Timestamp,
    Uuid,
    not_blank,
)
from app.rest.fields.ids import Id
from app.rest.fields.json import Array, GeoPointField, Object

__all__ = [
    "Array",
    "Boolean",
    "Date",
    "Decimal",
    "Enumeration",
    "GeoPointField",
    "Id",
    "Int32",
    "Integer",
    "Number",
    "Object",
    "Schema",
    "Text",
    "Timestamp",
    "Uuid",
    "not_blank",
]
