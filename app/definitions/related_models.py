"""The models, in JSON and in Python, that relations may lead to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import inspect

from app.database.columns import AnyColumn
from app.properties.properties import column_name
from app.properties.types import PropertyType
from app.rest.resource import Resource

from .definition import Definition
from .ids import key_type

USERS = "users"
WORD_START = re.compile(r"[_-]+(\w)")


@dataclass(frozen=True)
class RelatedModel:
    """A model that a relation may lead to."""

    # The name of its resource, and the class mapped to its table.
    resource: str
    model: type[object]
    # The column of its ids or the name foreign keys use for it, and the type of its ids.
    id_column: AnyColumn | str
    id_type: PropertyType
    # The definition of a model in JSON, or the columns by attribute of one in Python; users may
    # have both.
    definition: Definition | None = None
    columns: Mapping[str, AnyColumn] | None = None

    @property
    def name(self) -> str:
        """The name of a model in JSON, or of the resource of one in Python."""
        return self.definition.name if self.definition else self.resource

    @property
    def type_name(self) -> str:
        """The name that polymorphic relations use for it, as in LoopBack 3."""
        return self.definition.name if self.definition else self.model.__name__

    @property
    def table(self) -> str:
        """The table of a model in JSON, or a name derived in the same way for one in Python."""
        return self.definition.table if self.definition else column_name(self.model.__name__)

    @property
    def usual_key(self) -> str:
        """LoopBack 3's name for a foreign key to it."""
        return f"{camel_case(self.type_name)}Id"


class RelatedModels:
    """Finds models by the names that relations use for them."""

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        resources: Iterable[Resource],
        users: Definition | None,
    ) -> None:
        self.definitions = definitions
        self._by_name: dict[str, RelatedModel] = {}
        for resource in resources:
            model = _model_in_python(resource, users if resource.name == USERS else None)
            names = (resource.name, resource.singular, resource.model.__name__)
            self._by_name |= dict.fromkeys(map(str.lower, names), model)
        self._by_resource = {model.resource: model for model in self._by_name.values()}
        if users is not None:
            self._by_name[users.name.lower()] = self._by_resource[USERS]
        for definition in definitions.values():
            model = RelatedModel(
                definition.plural,
                definition.model,
                f"{definition.table}.id",
                key_type(definition.id.type),
                definition,
            )
            self._by_name[definition.name.lower()] = model
            self._by_resource[definition.plural] = model

    def find(self, name: object) -> RelatedModel | None:
        """Return the model with a name, in any case, if it exists."""
        return self._by_name.get(name.lower()) if isinstance(name, str) else None

    def __getitem__(self, resource: str) -> RelatedModel:
        """Return the model of a resource."""
        return self._by_resource[resource]

    def of(self, definition: Definition) -> RelatedModel:
        """Return a model as the target of relations."""
        return self._by_name[definition.name.lower()]

    @property
    def all_in_json(self) -> list[RelatedModel]:
        """The models in JSON, and users."""
        return [*map(self.of, self.definitions.values()), self._by_resource[USERS]]

    @property
    def names(self) -> list[str]:
        """The names of all models, in lower case."""
        return list(self._by_name)


def camel_case(name: str) -> str:
    """Return a name such as `order-item` or `OrderItem` as `orderItem`."""
    joined = WORD_START.sub(lambda match: match[1].upper(), name)
    return joined[0].lower() + joined[1:]


def _model_in_python(resource: Resource, definition: Definition | None) -> RelatedModel:
    """Return a model in Python, with the columns of its properties."""
    columns = inspect(resource.model).columns
    shown = {id(column) for column in resource.properties.values()}
    by_attribute = {name: column for name, column in columns.items() if id(column) in shown}
    key = columns["id"]
    return RelatedModel(
        resource.name, resource.model, key, key_type(key.type), definition, by_attribute
    )
