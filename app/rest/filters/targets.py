"""What conditions and orders are about: columns, and places in columns of JSON."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy
from sqlalchemy import ColumnElement, Enum, Numeric, String

from app.config import ConfigurationError
from app.database.dialects import CodePoints
from app.database.ids import IdColumn, TextId
from app.errors import InvalidFilter, quote

from .json_paths import JsonPath, is_json

# The property of models with `strict: false` that holds what they do not declare.
OTHERS = "$others"
Column = sqlalchemy.Column[Any]
Properties = Mapping[str, Column]


class Target(NamedTuple):
    """What a condition compares: a column, or a place in a column of JSON."""

    value: ColumnElement[Any]
    is_null: ColumnElement[bool]
    # The value stored for null, if it is not NULL.
    null: Any = None


def check_types(model: str, properties: Properties) -> None:
    """Raise ConfigurationError for columns whose values the databases order or round differently.

    PostgreSQL orders a native enumeration by its declaration; SQLite stores a Numeric as a float.
    The id must have one of the types of ids.
    """
    if "id" in properties and not isinstance(properties["id"].type, IdColumn):
        raise ConfigurationError(
            f"{model}.id must be a RowId, IntegerId, UuidId, ObjectId or TextId"
        )
    for name, column in properties.items():
        type_ = column.type
        if isinstance(type_, Enum) and type_.native_enum:
            raise ConfigurationError(f"{model}.{name} must be an Enum with native_enum=False")
        if isinstance(type_, Numeric) and type_.asdecimal:
            raise ConfigurationError(f"{model}.{name} must be an ExactDecimal, not a Numeric")


def has_short_ids(column: Column) -> bool:
    """Tell whether a column is for ids that are too short to be generated."""
    return isinstance(column.type, TextId) and column.type.form.generate is None


def is_text(column: Column) -> bool:
    """Tell whether a column holds text."""
    return isinstance(column.type, String)


def text_order(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a value that sorts and compares by code point, as SQLite does by itself."""
    return CodePoints(value) if isinstance(value.type, String) else value


def find_property(name: str, properties: Properties) -> Column:
    """Return the column of a property; raise InvalidFilter."""
    if name not in properties:
        raise InvalidFilter(
            f"There is no property '{quote(name)}'; there are {', '.join(properties)}."
        )
    return properties[name]


def find_place(name: str, properties: Properties) -> tuple[Column, JsonPath | None]:
    """Return the column that a name such as `address.city` is about, and the path in it."""
    if name not in properties and OTHERS in properties:
        return properties[OTHERS], JsonPath.parse(properties[OTHERS], f"{OTHERS}.{name}")
    if name in properties or "." not in name:
        return find_property(name, properties), None
    column = find_property(name.partition(".")[0], properties)
    if not is_json(column) or column.type.python_type is not dict:
        raise InvalidFilter(f"'{quote(name)}' is no path: the property holds no object.")
    return column, JsonPath.parse(column, name)


def column_target(column: Column) -> Target:
    """Return the target that is a column."""
    null = column.info.get("null")
    return Target(column, column.is_(None) if null is None else column == null, null)


def path_target(path: JsonPath, operand: Any) -> Target:
    """Return the target at a path, of the type of the first operand."""
    operands = operand if isinstance(operand, list) else [operand]
    first = next((each for each in operands if each is not None), "")
    kind = bool if isinstance(first, bool) else float if isinstance(first, int | float) else str
    return Target(path.as_type(kind), path.is_missing())
