"""The ids of models in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.database.ids import IdColumn, IntegerId, ObjectId, RowId, TextId, UuidId
from app.ids import INTEGER, MAX_TEXT_ID, UUID_LENGTH, IdForm
from app.problems import Problems
from app.properties.properties import Property
from app.properties.types import PropertyType
from app.rest.fields.ids import Id

from .bases import Merged

# What a property that is not declared is called.
ID = "id"


@dataclass(frozen=True)
class IdProperty:
    """The id of a model: its name in JSON, its column's type, and whether clients choose it."""

    name: str = ID
    type: IdColumn | type[IdColumn] = RowId
    on_create: bool = False
    required: bool = False

    @property
    def form(self) -> IdForm:
        """The form of the ids where the database does not generate them by ID_TYPE."""
        made = self.type() if isinstance(self.type, type) else self.type
        return INTEGER if isinstance(made, RowId) else made.form


def key_type(column_type: IdColumn | type[IdColumn]) -> PropertyType:
    """Return the type of properties that hold ids of this type."""
    made = column_type() if isinstance(column_type, type) else column_type
    return PropertyType(ID, made, partial(Id, made))


def take_id(
    file: str, merged: Merged, properties: dict[str, Property], problems: Problems
) -> IdProperty:
    """Take the id out of the properties of a model; without one, rows have an `id` of their own."""
    declared = [each for each in properties.values() if each.is_id or each.name == ID]
    if len([each for each in declared if each.name != ID]) > 1:
        _warn_of_several(file, declared, problems)
        for each in declared:
            properties[each.name] = replace(each, is_id=False, required=True)
        declared = [each for each in declared if each.name == ID]
    if not declared:
        return IdProperty()
    # The one called `id` rather than another.
    chosen = max(declared, key=lambda each: each.name == ID)
    for each in declared:
        properties[each.name] = replace(each, is_id=False)
    del properties[chosen.name]
    path, given = merged.properties[chosen.name]
    return _read(chosen, given if isinstance(given, Mapping) else {}, problems, path)


def _warn_of_several(file: str, declared: list[Property], problems: Problems) -> None:
    names = ", ".join(each.name for each in declared)
    problems.warn(
        f"{file}: properties", f"{names} are not the id together: rows have an `id` of their own"
    )


def _read(
    property_: Property, declared: Mapping[str, Any], problems: Problems, path: str
) -> IdProperty:
    kind = property_.type.name
    generated = declared.get("generated")
    if kind in ("number", "integer"):
        return _chosen(property_, IntegerId, generated is False)
    if kind == "string":
        chosen = not generated and not declared.get("defaultFn")
        declared_length = getattr(property_.type.column_type, "length", None)
        length = min(declared_length or MAX_TEXT_ID, MAX_TEXT_ID)
        return _chosen(property_, TextId(length if chosen else max(length, UUID_LENGTH)), chosen)
    types: dict[str, type[IdColumn]] = {"uuid": UuidId, "objectid": ObjectId}
    if kind in types:
        return _chosen(property_, types[kind], generated is False)
    if declared.get("type") is not None:
        problems.warn(f"{path}.type", f"is ignored: an id cannot be of the type {kind}")
    return IdProperty(property_.name)


def _chosen(
    property_: Property, column_type: IdColumn | type[IdColumn], on_create: bool
) -> IdProperty:
    """Return an id that clients may choose, or not, and then must if it is required."""
    return IdProperty(property_.name, column_type, on_create, on_create and property_.required)
