"""The ids of models in JSON."""

from dataclasses import dataclass, replace
from functools import partial

from app.database.ids import IdColumn, IntegerId, ObjectId, RowId, TextId, UuidId
from app.fields.ids import Id
from app.ids import INTEGER, MAX_TEXT_ID, UUID_LENGTH, IdForm
from app.properties.declaration import Declaration
from app.properties.properties import Property
from app.properties.types import PropertyType

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
        _keep(marked, merged, properties)
        marked = []
    # Prefer the property called `id`.
    chosen = ID if ID in properties else next(iter(marked), None)
    forces = merged.settings.get(FORCE_ID)
    if chosen is None:
        return IdProperty(on_create=forces is False)
    return _read(properties.pop(chosen), merged.properties[chosen], forces)


def _keep(names: list[str], merged: MergedModel, properties: dict[str, Property]) -> None:
    """Keep the properties of a composite id as required properties; warn."""
    ids = ", ".join(name for name in properties if name in (ID, *names))
    merged.declared["properties"].warn(
        f"{ids} are not the id together: rows have an `id` of their own"
    )
    for name in names:
        properties[name] = replace(properties[name], required=True)


def _read(property_: Property, declared: Declaration, forces: object) -> IdProperty:
    kind = property_.type.name
    given = declared.mapping.get("generated")
    # LoopBack 3 generates a property `id` that is not declared as the id.
    is_declared = bool(declared.mapping.get("id")) or kind == "string"
    generated = kind in GENERATED or not is_declared if given is None else given
    is_chosen = forces is False or not generated
    if kind in COLUMN_TYPES:
        return _chosen(property_, COLUMN_TYPES[kind], is_chosen and forces is not True)
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
    return _chosen(property_, TextId(length), on_create=True)


def _chosen(
    property_: Property, column_type: IdColumn | type[IdColumn], on_create: bool
) -> IdProperty:
    """Return an id that clients may choose if `on_create`; then it may be required."""
    return IdProperty(property_.name, column_type, on_create, on_create and property_.required)
