"""Relations whose data is a property: references and embedded objects, and what clients see."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from marshmallow import ValidationError

from app import errors
from app.plurals import pluralize
from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import (
    KnownModels,
    Property,
    embedding_properties,
    hidden_properties,
    read_property,
)
from app.rest.relations import EMBEDS_MANY, EMBEDS_ONE, REFERENCES_MANY
from app.rest.resource import Resource
from app.rest.visibility import Visibility

from .bases import USER, USER_HIDDEN, MergedModel
from .definition import Definition
from .keys import ID
from .related_models import USERS, camel_case

EMBEDDING = (EMBEDS_ONE, EMBEDS_MANY)
# The type of the property, and the key that names it.
HELD: dict[str, object] = {REFERENCES_MANY: ["any"], EMBEDS_ONE: "object", EMBEDS_MANY: ["object"]}
# Values that do not satisfy a required property.
BLANK = (None, "")
# The type of properties that hold the data of any relation.
ANY = "any"
PLACES = {REFERENCES_MANY: "foreignKey", EMBEDS_ONE: "property", EMBEDS_MANY: "property"}


@dataclass(frozen=True)
class EmbeddableModel:
    """A model in JSON, served or not, as far as others may embed it."""

    name: str
    # Excludes the contents of its objects.
    visibility: Visibility
    # Its properties and relations as declared.
    properties: JsonObject = field(default_factory=dict)
    relations: Mapping[str, Declaration] = field(default_factory=dict)


def embeddable(merged: MergedModel) -> EmbeddableModel:
    """Return a model as others may embed it."""
    declared = {name: property_.value for name, property_ in merged.properties.items()}
    names = [name for key in ("hidden", "protected") for name in _names(merged.settings.get(key))]
    if merged.root == USER:
        names += USER_HIDDEN
    ids = [name for name, property_ in merged.properties.items() if property_.mapping.get("id")]
    visibility = Visibility(
        hidden_properties(declared) | {*names}, id_name=ID if ID in ids else (*ids, ID)[0]
    )
    return EmbeddableModel(merged.source.name, visibility, declared, dict(merged.relations))


def _names(declared: object) -> list[str]:
    names = declared if isinstance(declared, list) else []
    return [name for name in names if isinstance(name, str)]


def find_visibilities(
    models: Iterable[EmbeddableModel], resources: Iterable[Resource]
) -> dict[str, Visibility]:
    """Return what clients see of objects of the models in JSON and in Python.

    Keys are the names used by relations and types, in lower case.
    """
    known = dict[str, Visibility]()
    for resource in resources:
        visibility = _of_resource(resource)
        for name in (resource.name, resource.singular, resource.model.__name__):
            known[name.lower()] = visibility
    models = list(models)
    known |= {model.name.lower(): model.visibility for model in models}
    for model in models:
        model.visibility.inner.update(_inside(model.properties, model.relations, known))
    return known


def _of_resource(resource: Resource) -> Visibility:
    """Return what clients see of embedded copies of rows of a model in Python."""
    fields = resource.schema().load_fields.items()
    written = {field.data_key or name for name, field in fields if field.load_only}
    withheld = resource.withheld | resource.protected | written
    of_users = frozenset(USER_HIDDEN if resource.name == USERS else ())
    return Visibility(withheld | of_users, dict(resource.embedded))


def embed(definition: Definition, known: KnownModels) -> None:
    """Set what clients see of the objects that the rows of a model hold."""
    inside = _inside(definition.declared, definition.relations, known)
    definition.embedded = {
        name: visibility for name, visibility in inside.items() if visibility.hides_anything()
    }


def _inside(
    properties: JsonObject, relations: Mapping[str, Declaration], known: KnownModels
) -> dict[str, Visibility]:
    """Return what clients see of the objects in properties, including those of relations."""
    held = {
        property_name(name, relation.mapping): str(relation.mapping.get("model")).lower()
        for name, relation in relations.items()
        if relation.mapping.get("type") in EMBEDDING
    }
    embedded = {name: known[model] for name, model in held.items() if model in known}
    return {**embedding_properties(properties, known), **embedded}


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
