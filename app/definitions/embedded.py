"""Embedded models: what clients see of objects that other models hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.properties.declaration import Declaration, JsonObject
from app.properties.embedded import Models, embedding_properties, hidden_properties
from app.rest.relations import EMBEDS_MANY, EMBEDS_ONE
from app.rest.resource import Resource
from app.rest.visibility import Visibility

from .bases import USER, USER_HIDDEN, MergedModel
from .definition import Definition
from .held import property_name
from .ids import ID
from .related_models import USERS

EMBEDDING = (EMBEDS_ONE, EMBEDS_MANY)


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


def embed(definition: Definition, known: Models) -> None:
    """Set what clients see of the objects that the rows of a model hold."""
    inside = _inside(definition.declared, definition.relations, known)
    definition.embedded = {
        name: visibility for name, visibility in inside.items() if visibility.hides_anything()
    }


def _inside(
    properties: JsonObject, relations: Mapping[str, Declaration], known: Models
) -> dict[str, Visibility]:
    """Return what clients see of the objects in properties, including those of relations."""
    held = {
        property_name(name, relation.mapping): str(relation.mapping.get("model")).lower()
        for name, relation in relations.items()
        if relation.mapping.get("type") in EMBEDDING
    }
    embedded = {name: known[model] for name, model in held.items() if model in known}
    return {**embedding_properties(properties, known), **embedded}
