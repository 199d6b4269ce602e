"""The models, in JSON and in Python, that relations may lead to, and the foreign keys to them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from sqlalchemy import inspect

from app.database.columns import AnyColumn
from app.database.ids import IdColumn
from app.properties.declaration import Declaration
from app.properties.properties import Property, column_name
from app.properties.types import PropertyType
from app.rest.resource import Resource
from app.users.models import User

from .definition import Definition
from .keys import key_type

USERS = "users"
# Types of properties that may hold the id of another row.
KEY_TYPES = ("string", "number", "integer", "uuid", "objectid", "object", "any", "id")
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
    def holds_users(self) -> bool:
        """Whether the rows are users."""
        return issubclass(self.model, User)

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
        further_users: Iterable[Definition] = (),
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
        self._users = [self._by_resource[USERS]]
        for definition in further_users:
            model = replace(
                self._by_resource[USERS], resource=definition.plural, definition=definition
            )
            self._add(definition, model)
            self._users.append(model)
        for definition in definitions.values():
            model = RelatedModel(
                definition.plural,
                definition.model,
                f"{definition.table}.id",
                key_type(definition.id.type),
                definition,
            )
            self._add(definition, model)

    def _add(self, definition: Definition, model: RelatedModel) -> None:
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
        return [*map(self.of, self.definitions.values()), *self._users]

    @property
    def names(self) -> list[str]:
        """The names of all models, in lower case."""
        return list(self._by_name)


class ForeignKeys:
    """Adds foreign keys to models in JSON, and finds those of models in Python."""

    def __init__(self, models: RelatedModels) -> None:
        self._models = models

    def add(
        self, holder: RelatedModel, name: str, refers_to: RelatedModel, relation: Declaration
    ) -> str:
        """Return the column with the ids of another model; add it to a model in JSON.

        Empty, with a warning, if the model cannot have it.
        """
        definition = holder.definition
        if definition is None:
            column, problem = _column_in_python(holder, name, refers_to)
        elif problem := self._problem(definition, name, refers_to):
            column = ""
        else:
            column = self._add(definition, name, refers_to)
        if problem:
            relation.warn(f"is not served: {problem}")
        return column

    def _problem(self, holder: Definition, name: str, refers_to: RelatedModel) -> str:
        """Return why a model cannot have a foreign key; empty if it can."""
        declared, key = holder.properties.get(name), f"{name} of {holder.name}"
        if name == holder.id.name and (problem := self._id_problem(holder, refers_to)):
            return f"{key} is the id, {problem}"
        if name in {*holder.own_names, *holder.held, *holder.polymorphic}:
            return f"{key} holds no ids"
        if declared and declared.type.name not in KEY_TYPES:
            return f"{key} is of the type {declared.type.name}"
        known = self._known(holder, name) or refers_to
        is_other = known is not refers_to and not _common_model(known, refers_to)
        return f"{key} refers to another model" if is_other else ""

    def _id_problem(self, holder: Definition, refers_to: RelatedModel) -> str:
        """Return why a model's id cannot refer to a row of another model; empty if it can."""
        if not holder.id.on_create:
            return "which clients do not choose"
        own = self._models.of(holder)
        if own is refers_to:
            return "and leads to the row itself"
        return "" if _have_same_ids(own, refers_to) else "and of another type"

    def _known(self, holder: Definition, name: str) -> RelatedModel | None:
        """Return the model that a foreign key refers to already."""
        resource = holder.foreign_keys.get(name)
        return None if resource is None else self._models[resource]

    def _add(self, holder: Definition, name: str, refers_to: RelatedModel) -> str:
        known = self._known(holder, name)
        if known is not None and known is not refers_to:
            # The key may hold ids of either model.
            holder.shared_keys.add(name)
            refers_to = _common_model(known, refers_to) or refers_to
        holder.foreign_keys[name] = refers_to.resource
        if name == holder.id.name:
            # Such an id is never generated, as it must be that of an existing row.
            id_type = cast("IdColumn", refers_to.id_type.column_type)
            holder.id = replace(holder.id, type=id_type, required=True)
            return holder.column_of(name)
        found = holder.properties.get(name)
        found = found or Property(name, holder.new_column(name), refers_to.id_type)
        if found.hidden:
            holder.hidden |= {name}
        # A hidden key is read from the body and hidden in responses.
        holder.properties[name] = replace(
            found, hidden=False, type=refers_to.id_type, validators=[], index=True
        )
        return found.column_name


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


def _common_model(known: RelatedModel, refers_to: RelatedModel) -> RelatedModel | None:
    """Return the model that a key shared by two models refers to.

    The base if one extends the other, or the first of two models with a common base.
    """
    first, second = known.definition, refers_to.definition
    if not first or not second or not _have_same_ids(known, refers_to):
        return None
    if second.name in first.bases:
        return refers_to
    return known if first.name in second.bases or first.bases & second.bases else None


def _have_same_ids(first: RelatedModel, second: RelatedModel) -> bool:
    kinds = [model.id_type.column_type.python_type for model in (first, second)]
    return kinds[0] is kinds[1]


def _column_in_python(holder: RelatedModel, name: str, refers_to: RelatedModel) -> tuple[str, str]:
    """Return the column of a model in Python, or why it cannot hold such ids."""
    attribute = column_name(name)
    column = (holder.columns or {}).get(attribute)
    if column is None:
        return "", f"{holder.resource} has no {attribute}"
    if not _holds_ids(column, refers_to):
        return "", f"{attribute} of {holder.resource} holds other values"
    return attribute, ""


def _holds_ids(column: AnyColumn, target: RelatedModel) -> bool:
    """Return True if a column of a model in Python holds ids of another model."""
    if column.foreign_keys:
        referred = str(target.id_column)
        return any(key.target_fullname == referred for key in column.foreign_keys)
    made = target.id_type.column_type
    return isinstance(column.type, IdColumn) and column.type.python_type is made.python_type
