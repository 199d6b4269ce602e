"""Types of properties in LoopBack 3's form, with types of columns and fields."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import BigInteger, Boolean, Date, Double, String, Text, Uuid
from sqlalchemy.types import TypeEngine

from app.database.columns import (
    MAX_PRECISION,
    ExactDecimal,
    FileReference,
    GeoPoint,
    Json,
    UtcDateTime,
)
from app.fields import base as fields
from app.fields import json as json_fields
from app.fields.base import MAX_TEXT, Field
from app.fields.files import MAX_FILE, File, FileOptions
from app.problems import MISSPELT, suggest

from .declaration import Declaration, JsonObject

ColumnType = TypeEngine[Any]

#: Maximum characters of an indexed text of a model in JSON: PostgreSQL limits an index entry to
#: 2704 bytes.
MAX_INDEXED = 600
# Maximum characters of one without `length`.
INDEXED_TEXT = 255
# Digits of a decimal after the point, without `scale`.
SCALE = 2
UNCHECKED = "is taken as an object, and its inside not checked"
SIMPLE: dict[str, tuple[ColumnType, Callable[..., Field]]] = {
    "number": (Double(), fields.Number),
    "integer": (BigInteger(), fields.Integer),
    "boolean": (Boolean(), fields.Boolean),
    "date": (UtcDateTime(), fields.Timestamp),
    "dateonly": (Date(), fields.Date),
    "uuid": (Uuid(), fields.Uuid),
    "objectid": (String(24), fields.ObjectIdField),
    "object": (Json(dict), json_fields.Object),
    "any": (Json(object), json_fields.AnyValue),
    "geopoint": (GeoPoint(), json_fields.GeoPointField),
}
ITEMS: dict[str, type] = {
    "string": str,
    "date": datetime,
    "objectid": str,
    "number": float,
    "integer": float,
    "boolean": bool,
    "any": object,
}
FILE = "file"
NAMES = ("string", "decimal", "array", FILE, *SIMPLE)
# Keys of a file's declaration that other types do not have.
FILE_KEYS = ("store", "container", "types", "maxBytes")
FILE_TYPE = re.compile(r"[a-z]+/(\*|[\w.+-]+)", re.ASCII)


@dataclass(frozen=True)
class PropertyType:
    """A type of property: its name, its column's type, and the function that creates its field."""

    name: str
    column_type: ColumnType
    make_field: Callable[..., Field]

    def load(self, value: object) -> object:
        """Return a JSON value in this type; raise ValidationError."""
        field = self.make_field()
        fields.unify_messages(field)
        return field.deserialize(value)


def read_type(declared: Declaration) -> PropertyType | None:
    """Return the type of a property; None, with a reported problem, if it is missing."""
    given = declared.mapping.get("type", "any")
    if isinstance(given, list):
        return _array(given[0] if given else "any", declared)
    if isinstance(given, dict):
        declared["type"].warn("what is inside the object is not checked")
        given = "object"
    if isinstance(given, str | None):
        return _named(given or "any", declared)
    declared["type"].add(f"must be one of {', '.join(NAMES)}, or a list of one")
    return None


def _named(given: str, declared: Declaration) -> PropertyType | None:
    name = given.lower()
    if name in READERS:
        return READERS[name](declared)
    if name not in SIMPLE:
        name = _replacement(name, declared)
    return PropertyType(name, *SIMPLE[name]) if name else None


def _replacement(name: str, declared: Declaration) -> str:
    """Return the replacement of an unsupported type; None for a misspelt one."""
    given = str(declared.mapping.get("type", "any"))
    if meant := suggest(name, NAMES, MISSPELT):
        declared["type"].add(f"there is no type {given!r}{meant}")
        return ""
    declared["type"].warn(f"{given!r} {UNCHECKED}")
    return "object"


def _array(item: object, declared: Declaration) -> PropertyType:
    name = item.lower() if isinstance(item, str) else "object"
    if name not in ITEMS and name != "object":
        declared["type"].warn(f"{item!r} {UNCHECKED}")
    items = ITEMS.get(name, dict)
    return PropertyType("array", Json(list, items), partial(json_fields.Array, items))


def _text(declared: Declaration) -> PropertyType:
    if "enum" in declared.mapping:
        return _enumeration(declared["enum"])
    indexed = is_indexed(declared.mapping)
    most = MAX_INDEXED if indexed else MAX_TEXT
    length = _whole_number(declared["length"], INDEXED_TEXT if indexed else MAX_TEXT)
    if length > most:
        reason = "with an index " if indexed else ""
        declared["length"].warn(f"a text {reason}has at most {most} characters")
    length = min(length, most)
    column_type = Text() if length == MAX_TEXT else String(length)
    return PropertyType("string", column_type, partial(fields.Text, length, multiline=True))


def is_indexed(declared: JsonObject) -> bool:
    """Return True if a property has an index."""
    return any(declared.get(key) for key in ("index", "unique", "id"))


def _enumeration(declared: Declaration) -> PropertyType:
    values = declared.value
    if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
        declared.add("must be a list of texts")
        values = [""]
    length = max(map(len, values))
    return PropertyType("string", String(length), partial(fields.Enumeration, *values))


def _decimal(declared: Declaration) -> PropertyType:
    precision = _whole_number(declared["precision"], MAX_PRECISION)
    scale = _whole_number(declared["scale"], min(SCALE, precision), least=0)
    if not scale <= precision <= MAX_PRECISION:
        declared.add(f"a decimal has a precision of at most {MAX_PRECISION}, and no larger scale")
        precision, scale = MAX_PRECISION, SCALE
    column_type = ExactDecimal(precision, scale)
    return PropertyType("decimal", column_type, partial(fields.Decimal, precision, scale))


def _file(declared: Declaration) -> PropertyType:
    store, container = _name_of(declared["store"]), ""
    if not store:
        declared["store"].add("must be the name of a store of files in datasources.json")
    if declared.mapping.get("container") is not None:
        container = _name_of(declared["container"])
        if not container:
            declared["container"].add("must be the name of a container")
    for key in ("default", "defaultFn", "validates", "id", "unique"):
        if key in declared.mapping:
            declared[key].add("a file cannot have it")
    types = declared.mapping.get("types", [])
    if not isinstance(types, list) or not all(map(_is_file_type, types)):
        declared["types"].add('must be a list of types, such as ["image/*", "application/pdf"]')
        types = []
    options = FileOptions(
        store, container, tuple(types), _whole_number(declared["maxBytes"], MAX_FILE)
    )
    return PropertyType(FILE, FileReference(), partial(File, options))


def _name_of(declared: Declaration) -> str:
    return declared.value if isinstance(declared.value, str) else ""


def _is_file_type(given: object) -> bool:
    return isinstance(given, str) and FILE_TYPE.fullmatch(given) is not None


def _whole_number(declared: Declaration, usual: int, least: int = 1) -> int:
    """Return a positive number; LoopBack's discovery of databases writes null for none."""
    value = declared.value
    if value is None:
        return usual
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is not int or value < least:
        declared.add("must be a positive whole number")
        return usual
    return value


READERS: dict[str, Callable[[Declaration], PropertyType]] = {
    "array": partial(_array, "any"),
    "string": _text,
    "decimal": _decimal,
    FILE: _file,
}
