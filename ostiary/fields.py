"""Fields of schemas: the properties that clients read and write, validated alike on both databases.

A schema has a field for each property, under the name that clients use; `attribute` is the column's
name if it differs. As in marshmallow, all fields take `required`, `load_default`, `allow_none`,
`dump_only` (read-only), `load_only`, `validate` and `metadata`::

    from marshmallow.validate import Range

    from ostiary import fields
    from ostiary.columns import TextId


    class EditionSchema(fields.Schema):
        id = fields.Id(dump_only=True)
        isbn = fields.Id(TextId(13), required=True)
        title = fields.Text(100, required=True, validate=fields.not_blank)
        blurb = fields.Text(2000, multiline=True, load_default="")
        kind = fields.Enumeration("hardcover", "paperback", load_default="paperback")
        pages = fields.Int32(validate=Range(1), allow_none=True, load_default=None)
        printed = fields.Integer(load_default=0)
        weight = fields.Number(load_default=0.0)
        price = fields.Decimal(8, 2, required=True)
        inPrint = fields.Boolean(attribute="in_print", load_default=True)
        published = fields.Date(required=True)
        batch = fields.Uuid(allow_none=True, load_default=None)
        created = fields.Timestamp(dump_only=True)
        tags = fields.Array(str, load_default=[])
        size = fields.Object(load_default={})
        printedAt = fields.GeoPointField(attribute="printed_at", required=True)
"""

from app.fields.base import (
    Boolean,
    Date,
    Decimal,
    Enumeration,
    Id,
    Int32,
    Integer,
    Number,
    Schema,
    Text,
    Timestamp,
    Uuid,
    not_blank,
)
from app.fields.json import Array, GeoPointField, Object

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
