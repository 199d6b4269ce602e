"""Relations whose data is a property of the model: references and embedded objects."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from marshmallow import ValidationError

from app import errors
from app.plurals import pluralize
from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import Property, read_property
from app.rest.relations import EMBEDS_MANY, EMBEDS_ONE, REFERENCES_MANY

from .definition import Definition
from .related_models import camel_case

# The type of the property, and the key that names it.
HELD: dict[str, object] = {REFERENCES_MANY: ["any"], EMBEDS_ONE: "object", EMBEDS_MANY: ["object"]}
# Values that do not satisfy a required property.
BLANK = (None, "")
# The type of properties that hold the data of any relation.
ANY = "any"
PLACES = {REFERENCES_MANY: "foreignKey", EMBEDS_ONE: "property", EMBEDS_MANY: "property"}


def hold(
    definition: Definition, name: str, relation: Declaration, needed: Collection[str] = ()
) -> Property | None:
    """Return the property with the data of a relation; add it unless it is declared.

    Embedded objects must have the `needed` properties. None, with a warning, if the model cannot
    have the property.
    """
    held = property_name(name, relation.mapping)
    usual = read_property(held, relation.with_value(_declared_property(relation.mapping)))
    if usual is None:
        return None
    if problem := _problem(definition, usual):
        relation.warn(f"is not served: {problem}")
        return None
    property_ = definition.properties.get(held)
    if property_ is None:
        column, is_hidden = definition.new_column(held), held in definition.hidden
        property_ = replace(usual, column_name=column, hidden=is_hidden)
    elif not property_.required and property_.default is None:
        property_ = replace(property_, default=usual.default)
    if needed and relation["options"].mapping.get("validate") is not False:
        check = partial(_check_embedded, sorted(needed))
        property_ = replace(property_, validators=[*property_.validators, check])
    definition.properties[held] = property_
    definition.held.add(held)
    relation.warn(f"has no endpoints: its data is the property {held}")
    return property_


def _check_embedded(needed: Sequence[str], embedded: object) -> None:
    """Raise ValidationError for embedded objects without a property that their model requires."""
    for item in embedded if isinstance(embedded, list) else [embedded]:
        if not isinstance(item, Mapping):
            raise ValidationError("must be an object")
        for name in needed:
            if item.get(name) in BLANK:
                raise ValidationError(f"has an object in which {name} {errors.BLANK}")


def _problem(definition: Definition, usual: Property) -> str:
    """Return why a model cannot have this property for a relation; empty if it can."""
    declared = definition.properties.get(usual.name, usual)
    held = f"{usual.name} of {definition.name}"
    if usual.name in {definition.id.name, *definition.own_names, *definition.foreign_keys}:
        return f"{held} holds something else"
    if declared.type.name not in (usual.type.name, ANY):
        return f"{held} is of the type {declared.type.name}"
    return ""


def property_name(relation: str, declared: JsonObject) -> str:
    """Return LoopBack 3's name for the property with the data of a relation."""
    kind, model = str(declared["type"]), str(declared.get("model") or relation)
    given = declared.get(PLACES[kind])
    if kind == REFERENCES_MANY:
        return str(given or f"{camel_case(model)}Ids")
    name = str(given or camel_case(model if kind == EMBEDS_ONE else pluralize(model)))
    return f"_{name}" if name == relation else name


def _declared_property(declared: JsonObject) -> JsonObject:
    """Return the property with the data of a relation, with LoopBack 3's default value."""
    kind, default = str(declared["type"]), declared.get("default")
    if kind != EMBEDS_ONE:
        return {"type": HELD[kind], "default": []}
    default = {} if default is True else default if isinstance(default, Mapping) else None
    return {"type": HELD[kind], "default": default}
