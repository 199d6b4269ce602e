"""Keys of models in JSON: their ids, and the foreign keys of relations declared as belongsTo."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from app.database.ids import IdColumn, IntegerId, ObjectId, RowId, TextId, UuidId
from app.fields.base import Id
from app.ids import INTEGER, MAX_TEXT_ID, UUID_LENGTH, IdForm
from app.properties.declaration import Declaration
from app.properties.properties import Property
from app.properties.types import PropertyType
from app.rest.relations import BELONGS_TO

from .bases import MergedModel

# The name of an undeclared id.
ID = "id"
COLUMN_TYPES: dict[str, type[IdColumn]] = {
    "number": IntegerId,
    "integer": IntegerId,
    "uuid": UuidId,
    "objectid": ObjectId,
}
# The types that the service generates unless `generated` is false.
GENERATED = ("uuid", "objectid")
# Whether clients cannot choose ids; by default they can choose ids that are not generated.
FORCE_ID = "forceId"
SEPARATED = re.compile(r"_+(\w)")


@dataclass(frozen=True)
class IdProperty:
    """The id of a model: its name in JSON, its column's type, and whether clients may choose it."""

    name: str = ID
    type: IdColumn | type[IdColumn] = RowId
    on_create: bool = False
    required: bool = False

    @property
    def form(self) -> IdForm:
        """The form of the ids; INTEGER stands for that of ID_TYPE."""
        made = self.type() if isinstance(self.type, type) else self.type
        return INTEGER if isinstance(made, RowId) else made.form


def key_type(column_type: IdColumn | type[IdColumn]) -> PropertyType:
    """Return the type of properties that hold ids of this type."""
    made = column_type() if isinstance(column_type, type) else column_type
    return PropertyType(ID, made, partial(Id, made))


def take_id(merged: MergedModel, properties: dict[str, Property]) -> IdProperty:
    """Remove the id from the properties of a model; by default rows have an `id`."""
    marked = [name for name, property_ in properties.items() if property_.is_id and name != ID]
    for name in marked:
        properties[name] = replace(properties[name], is_id=False)
    if len(marked) > 1:
        _keep_properties(marked, merged, properties)
        marked = []
    # Prefer the property called `id`.
    chosen = ID if ID in properties else next(iter(marked), None)
    forces = merged.settings.get(FORCE_ID)
    if chosen is None:
        return IdProperty(on_create=forces is False)
    return _read_id(properties.pop(chosen), merged.properties[chosen], forces)


def _keep_properties(
    names: list[str], merged: MergedModel, properties: dict[str, Property]
) -> None:
    """Keep the properties of a composite id as required properties; warn."""
    ids = ", ".join(name for name in properties if name in (ID, *names))
    merged.declared["properties"].warn(
        f"{ids} are not the id together: rows have an `id` of their own"
    )
    for name in names:
        properties[name] = replace(properties[name], required=True)


def _read_id(property_: Property, declared: Declaration, forces: object) -> IdProperty:
    kind = property_.type.name
    given = declared.mapping.get("generated")
    # LoopBack 3 generates a property `id` that is not declared as the id.
    is_declared = bool(declared.mapping.get("id")) or kind == "string"
    generated = kind in GENERATED or not is_declared if given is None else given
    is_chosen = forces is False or not generated
    if kind in COLUMN_TYPES:
        return _chosen_id(property_, COLUMN_TYPES[kind], is_chosen and forces is not True)
    if kind == "string":
        has_default = bool(generated or declared.mapping.get("defaultFn"))
        return _text_id(property_, is_chosen, has_default)
    if declared.mapping.get("type") is not None:
        declared["type"].warn(f"is ignored: an id cannot be of the type {kind}")
    return IdProperty(property_.name, on_create=forces is False)


def _text_id(property_: Property, is_chosen: bool, has_default: bool) -> IdProperty:
    """Return a text id; clients may omit one that has a default."""
    declared = getattr(property_.type.column_type, "length", None)
    length = min(declared or MAX_TEXT_ID, MAX_TEXT_ID)
    if has_default:
        return IdProperty(property_.name, TextId(max(length, UUID_LENGTH)), is_chosen)
    return _chosen_id(property_, TextId(length), on_create=True)


def _chosen_id(
    property_: Property, column_type: IdColumn | type[IdColumn], on_create: bool
) -> IdProperty:
    """Return an id that clients may choose if `on_create`; then it may be required."""
    return IdProperty(property_.name, column_type, on_create, on_create and property_.required)


class BelongsTo(NamedTuple):
    """A belongsTo relation: its name, target model, and foreign key."""

    name: str
    model: object
    key: str


class PolymorphicKey(NamedTuple):
    """The properties of a polymorphic relation: the id of a row, and the name of its model."""

    key: str
    discriminator: str


def belongs_to(relations: Mapping[str, Declaration]) -> list[BelongsTo]:
    """Return the relations that are declared as belongsTo."""
    return [
        BelongsTo(
            name,
            relation.mapping.get("model"),
            str(relation.mapping.get("foreignKey") or f"{name}Id"),
        )
        for name, relation in relations.items()
        if relation.mapping.get("type") == BELONGS_TO and not relation.mapping.get("polymorphic")
    ]


def polymorphic_keys(relations: Mapping[str, Declaration]) -> list[PolymorphicKey]:
    """Return the keys of the relations that are declared as belongsTo and polymorphic."""
    return [
        polymorphic_key(name, relation.mapping.get("polymorphic"))
        for name, relation in relations.items()
        if relation.mapping.get("type") == BELONGS_TO and relation.mapping.get("polymorphic")
    ]


def polymorphic_key(relation: str, declared: object) -> PolymorphicKey:
    """Return the properties that LoopBack 3 uses for a relation with the key `polymorphic`.

    Its value is the name of the belongsTo relation, an object, or `true` for the relation's own
    name.
    """
    named = declared if isinstance(declared, Mapping) else {"selector": declared}
    given = next((named[key] for key in ("selector", "as") if named.get(key)), True)
    selector = relation if given is True else str(given)
    start = SEPARATED.sub(lambda match: match[1].upper(), selector[0].lower() + selector[1:])
    return PolymorphicKey(
        str(named.get("foreignKey") or f"{start}Id"),
        str(named.get("discriminator") or f"{start}Type"),
    )


def read_owner_relations(declared: Declaration) -> list[str] | bool:
    """Return what `ownerRelations` says: the relations to owners, or whether all may be."""
    given = declared.value
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return given
    if not isinstance(given, bool | None):
        declared.add("must be true, or a list of relations")
    return given is True
