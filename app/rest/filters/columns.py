"""Columns of models: which ones filters may use, and the kinds of their values."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from uuid import UUID

from sqlalchemy import Enum, Numeric, String
from sqlalchemy.types import TypeEngine

from app.database.columns import ExactDecimal, FileReference, GeoPoint, Json
from app.database.decimals import SumType
from app.database.ids import IdColumn, RowId, TextId
from app.ids import IdForm
from app.problems import ConfigurationError
from app.rest.visibility import Visibility

from . import kinds
from .kinds import Kind
from .sql import Column, Columns, Operand
from .tree import OTHERS

KINDS: dict[type, Kind] = {
    int: kinds.INTEGER,
    float: kinds.NUMBER,
    str: kinds.TEXT,
    bool: kinds.BOOLEAN,
    datetime: kinds.TIME,
    date: kinds.DATE,
    Decimal: kinds.DECIMAL,
    UUID: kinds.UUID,
}


def kinds_of(columns: Columns, row_ids: IdForm) -> dict[str, Kind]:
    """Return the kinds of the values in columns, by the same names, as `kind_of` does."""
    return {name: kind_of(column.type, row_ids) for name, column in columns.items()}


def kind_of(type_: TypeEngine[object], row_ids: IdForm) -> Kind:
    """Return the kind of the values of a column's type; `row_ids` is the form of a RowId."""
    match type_:
        case RowId():
            return kinds.identifier(row_ids)
        case IdColumn():
            return kinds.identifier(type_.form)
        case Enum():
            return kinds.enumeration(type_.enums)
        case ExactDecimal():
            return decimal_kind(type_)
        case GeoPoint():
            return kinds.POSITION
        case FileReference():
            return kinds.FILE
        case Json():
            is_array = type_.kind is list
            return kinds.ARRAYS.get(type_.items, kinds.ARRAYS[str]) if is_array else kinds.OBJECT
    return KINDS.get(type_.python_type, kinds.OPAQUE)


def visible(found: Mapping[str, Kind], visibility: Visibility) -> dict[str, Kind]:
    """Return the kinds of visible properties, each with the visible part of its objects.

    Undeclared properties are in the row itself.
    """
    inner = {**visibility.inner, OTHERS: visibility}
    return {
        name: replace(kind, visibility=inner[name]) if name in inner else kind
        for name, kind in found.items()
        if name == OTHERS or name not in visibility.withheld
    }


def decimal_kind(type_: ExactDecimal | SumType) -> Kind:
    """Return the kind of the decimals of a type."""
    return replace(kinds.DECIMAL, problem=partial(_inexact, type_))


def _inexact(type_: ExactDecimal | SumType, value: Decimal) -> str:
    """Return why a decimal is none of this type; empty if it is."""
    try:
        type_.exact(value)
    except ValueError as error:
        return str(error)
    return ""


def check_types(model: str, properties: Columns) -> None:
    """Raise ConfigurationError for columns that databases order or round differently.

    PostgreSQL orders a native enumeration by its declaration; SQLite stores Numeric as a float. The
    id must have one of the types for ids.
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
    """Return True if a column is for ids that are too short to be generated."""
    return isinstance(column.type, TextId) and column.type.form.generate is None


def is_text(column: Operand) -> bool:
    """Return True if a column holds text."""
    return isinstance(column.type, String)


def is_json(column: Operand) -> bool:
    """Return True if a column holds JSON: objects, arrays or positions."""
    return isinstance(column.type, Json | GeoPoint)
