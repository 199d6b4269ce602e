"""All models of an app, including the service's own."""

from dataclasses import dataclass

from app.access.policy import compiled_rules
from app.rest.collection import Collection, served_collections

from .definition import Definition
from .reading import json_models
from .related_models import USERS


@dataclass(frozen=True)
class Model:
    """A served model: its name, the file that defines it, and the place of its rows."""

    name: str
    # None for the service's own models, and those of `project.py`.
    file: str | None
    path: str
    table: str
    is_public: bool
    # None for a model at a data source or without rows, which has a definition.
    collection: Collection | None
    remote: Definition | None = None

    @property
    def resource(self) -> str:
        """The name of its resource, used in rules."""
        if self.remote:
            return self.remote.plural
        return self.collection.name if self.collection else self.path


def find_models() -> list[Model]:
    """Return all models of the current app by name."""
    found = json_models.current
    without_table = [*found.remote.values(), *found.containers.values(), *found.plain.values()]
    elsewhere = {definition.plural for definition in without_table}
    collections = served_collections.current.values()
    served = [
        _served(collection)
        for collection in collections
        if collection.name not in elsewhere and _is_model(collection)
    ]
    remote = [
        Model(
            definition.name,
            definition.file,
            definition.path,
            definition.table,
            definition.is_public,
            None,
            definition,
        )
        for definition in without_table
    ]
    return sorted([*served, *remote], key=lambda model: model.name.lower())


def _is_model(collection: Collection) -> bool:
    """Return True if the collection is a model and not the internal list of a call."""
    ruled = {model for model, _ in compiled_rules.current}
    return collection.resource.is_public or collection.name in ruled


def _served(collection: Collection) -> Model:
    found = json_models.current
    by_resource = {definition.plural: definition for definition in found.definitions.values()}
    if found.users:
        by_resource[USERS] = found.users
    by_resource |= {each.plural: each for each in found.further_users.values()}
    definition = by_resource.get(collection.name)
    files = {resource.name: file for resource, file in found.resources.items()}
    return Model(
        definition.name if definition else collection.singular,
        definition.file if definition else files.get(collection.name),
        collection.path,
        collection.rows.key.table.name,
        collection.resource.is_public,
        collection,
    )
