"""The models that relations may lead to: those in JSON, and those in Python."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, inspect

from app.properties.types import PropertyType
from app.rest.resource import Resource

from .definition import Definition
from .ids import key_type

USERS = "users"


@dataclass(frozen=True)
class RelatedModel:
    """A model that a relation may lead to."""

    # The name of its resource.
    resource: str
    # The column of its ids, or what a foreign key calls it, and the type of properties with ids.
    id_column: Column[Any] | str
    id_type: PropertyType
    # What it is: a model in JSON, or a model in Python, with the columns of its properties by
    # attribute; users may be both.
    definition: Definition | None = None
    columns: Mapping[str, Column[Any]] | None = None


class RelatedModels:
    """Finds models by the names that relations have for them."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        resources: Iterable[Resource],
        users: Definition | None,
    ) -> None:
        self.definitions = definitions
        self.users = users
        self._by_name: dict[str, RelatedModel] = {}
        for resource in resources:
            definition = users if resource.name == USERS else None
            key = inspect(resource.model).columns["id"]
            columns = _shown_columns(resource)
            target = RelatedModel(resource.name, key, key_type(key.type), definition, columns)
            names = (resource.name, resource.singular, resource.model.__name__)
            self._by_name |= dict.fromkeys(map(str.lower, names), target)
        self._by_resource = {each.resource: each for each in self._by_name.values()}
        if users is not None:
            self._by_name[users.name.lower()] = self._by_resource[USERS]
        for each in definitions.values():
            key_column = f"{each.table}.id"
            target = RelatedModel(each.plural, key_column, key_type(each.id.type), each)
            self._by_name[each.name.lower()] = target
            self._by_resource[each.plural] = target

    def find(self, name: Any) -> RelatedModel | None:
        """Return the model of a name in any case, if there is one."""
        return self._by_name.get(name.lower()) if isinstance(name, str) else None

    def __getitem__(self, resource: str) -> RelatedModel:
        """Return the model of a resource."""
        return self._by_resource[resource]

    def of(self, definition: Definition) -> RelatedModel:
        """Return a model as the target of relations."""
        return self._by_name[definition.name.lower()]

    @property
    def names(self) -> list[str]:
        """The names of all models, in small letters."""
        return list(self._by_name)


def _shown_columns(resource: Resource) -> dict[str, Column[Any]]:
    """Return the columns of a model in Python that are properties, by attribute."""
    shown = {id(column) for column in resource.properties.values()}
    columns = inspect(resource.model).columns.items()
    return {name: column for name, column in columns if id(column) in shown}
