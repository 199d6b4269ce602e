"""The types of properties in LoopBack 3's form, as types of columns and fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import BigInteger, Boolean, Date, Double, String, Text, Uuid
from sqlalchemy.types import TypeEngine

from app.database.columns import MAX_PRECISION, ExactDecimal, GeoPoint, Json, UtcDateTime
from app.problems import MISSPELT, Problems, suggest
from app.rest.fields import base as fields
from app.rest.fields import json as json_fields
from app.rest.fields.base import MAX_TEXT, Field

Declared = Mapping[str, Any]

#: Characters of a text of a model in JSON that has an index: an entry of an index of PostgreSQL has
#: at most 2704 bytes.
MAX_INDEXED = 600
# Characters of one whose `length` is not declared.
INDEXED_TEXT = 255
# Digits of a decimal after the point, if its `scale` is not declared.
SCALE = 2


@dataclass(frozen=True)
class PropertyType:
    """A type of properties: its name, its column's type, and the function that makes its field."""

    name: str
    column_type: TypeEngine[Any]
    make_field: Callable[..., Field]

    def load(self, value: Any) -> Any:
        """Return what a value of JSON is as this type; raise ValidationError."""
        field = self.make_field()
        fields.unify_messages(field)
        return field.deserialize(value)


SIMPLE: dict[str, tuple[TypeEngine[Any], Callable[..., Field]]] = {
    "number": (Double(), fields.Number),
    "integer": (BigInteger(), fields.Integer),
    "boolean": (Boolean(), fields.Boolean),
    "date": (UtcDateTime(), fields.Timestamp),
    "dateonly": (Date(), fields.Date),
    "uuid": (Uuid(), fields.Uuid),
    "objectid": (String(24), fields.ObjectId),
    "object": (Json(dict), json_fields.Object),
    "geopoint": (GeoPoint(), json_fields.GeoPoint),
}
ITEMS: dict[str, type[Any]] = {
    "string": str,
    "date": str,
    "objectid": str,
    "number": float,
    "integer": float,
    "any": object,
}
NAMES = ("string", "decimal", "array", *SIMPLE)


def read_type(declared: Declared, problems: Problems, path: str) -> PropertyType | None:
    """Return the type of a property; None if it has none, which is a problem."""
    type_ = declared.get("type", "any")
    if isinstance(type_, list):
        return _array(type_[0] if type_ else "any", problems, path)
    if isinstance(type_, dict):
        problems.warn(f"{path}.type", "what is inside the object is not checked")
        type_ = "object"
    if not isinstance(type_, str | None):
        problems.add(f"{path}.type", f"must be one of {', '.join(NAMES)}, or a list of one")
        return None
    name = str(type_).lower() if type_ is not None else "any"
    if name == "array":
        return _array("any", problems, path)
    if name == "string":
        return _text(declared, problems, path)
    if name == "decimal":
        return _decimal(declared, problems, path)
    if name not in SIMPLE:
        name = _other(name, str(type_), problems, path)
    return PropertyType(name, *SIMPLE[name]) if name else None


def _other(name: str, given: str, problems: Problems, path: str) -> str:
    """Return the type that stands for one that we do not have; none if it is misspelt."""
    if meant := suggest(name, NAMES, MISSPELT):
        problems.add(f"{path}.type", f"there is no type {given!r}{meant}")
        return ""
    problems.warn(f"{path}.type", f"{given!r} is taken as an object, and its inside not checked")
    return "object"


def _array(item: Any, problems: Problems, path: str) -> PropertyType:
    name = item.lower() if isinstance(item, str) else "object"
    if name not in ITEMS and name != "object":
        problems.warn(f"{path}.type", f"{item!r} is taken as an object, and its inside not checked")
    items = ITEMS.get(name, dict)
    return PropertyType("array", Json(list, items), partial(json_fields.Array, items))


def _text(declared: Declared, problems: Problems, path: str) -> PropertyType:
    if "enum" in declared:
        return _enumeration(declared["enum"], problems, path)
    indexed = is_indexed(declared)
    most = MAX_INDEXED if indexed else MAX_TEXT
    usual = INDEXED_TEXT if indexed else MAX_TEXT
    length = _whole_number(declared, "length", usual, problems, path)
    if length > most:
        reason = "with an index " if indexed else ""
        problems.warn(f"{path}.length", f"a text {reason}has at most {most} characters")
    length = min(length, most)
    column_type = Text() if length == MAX_TEXT else String(length)
    return PropertyType("string", column_type, partial(fields.Text, length, multiline=True))


def is_indexed(declared: Declared) -> bool:
    """Tell whether a property has an index."""
    return any(declared.get(key) for key in ("index", "unique", "id"))


def _enumeration(values: Any, problems: Problems, path: str) -> PropertyType:
    if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
        problems.add(f"{path}.enum", "must be a list of texts")
        values = [""]
    length = max(map(len, values))
    return PropertyType("string", String(length), partial(fields.Enumeration, *values))


def _decimal(declared: Declared, problems: Problems, path: str) -> PropertyType:
    precision = _whole_number(declared, "precision", MAX_PRECISION, problems, path)
    scale = _whole_number(declared, "scale", min(SCALE, precision), problems, path)
    if not scale <= precision <= MAX_PRECISION:
        problems.add(
            path, f"a decimal has a precision of at most {MAX_PRECISION}, and no larger scale"
        )
        precision, scale = MAX_PRECISION, SCALE
    column_type = ExactDecimal(precision, scale)
    return PropertyType("decimal", column_type, partial(fields.Decimal, precision, scale))


def _whole_number(declared: Declared, key: str, usual: int, problems: Problems, path: str) -> int:
    """Return a positive number; LoopBack's discovery of databases writes null for none."""
    value = declared.get(key)
    if value is None:
        return usual
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    least = 0 if key == "scale" else 1
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        problems.add(f"{path}.{key}", "must be a positive whole number")
        return usual
    return value
