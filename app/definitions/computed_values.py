"""What the computed properties of models in JSON name: relations, and properties of their rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import inspect
from sqlalchemy.types import TypeEngine

from app.database.ids import app_id_form
from app.errors import InvalidFilter
from app.problems import suggest
from app.properties.declaration import Declaration
from app.rest.computed import result_of_related, values_of
from app.rest.filters.columns import kind_of
from app.rest.filters.parser import read_where
from app.rest.filters.related import FilteredModel
from app.rest.filters.tree import Where
from app.rest.functions import uses_of
from app.rest.relations import REFERENCES_MANY, Relation
from app.rest.resource import Resource
from app.rest.rows.computed import RelatedValue

from .computed import FUNCTIONS, WHERE, DeclaredComputed
from .definition import Definition
from .related_models import RelatedModel, RelatedModels


class Column(NamedTuple):
    """The attribute of a property, and the type of its column."""

    attribute: str
    type: TypeEngine[Any]


Columns = Mapping[str, Column]


class ComputedProperties:
    """Finds what computed properties name."""

    def __init__(self, models: RelatedModels, resources: Mapping[str, Resource]) -> None:
        """`resources` are the models in Python by name."""
        self._models, self._resources = models, resources

    def resolve(
        self, definition: Definition, relations: Mapping[str, Relation]
    ) -> dict[str, RelatedValue]:
        """Return the computed properties of a model with these relations; report invalid ones."""
        declared = definition.computed.items()
        found = {name: self._resolve(computed, relations) for name, computed in declared}
        return {name: value for name, value in found.items() if value is not None}

    def _resolve(
        self, computed: DeclaredComputed, relations: Mapping[str, Relation]
    ) -> RelatedValue | None:
        relation, place = relations.get(computed.relation), computed.argument_place
        if relation is None:
            meant = suggest(computed.relation, relations)
            place.add_unknown(f"there is no relation {computed.relation!r}{meant}")
            return None
        if relation.has_types or relation.is_embedded or relation.kind == REFERENCES_MANY:
            place.add(
                f"{computed.relation} leads to rows of several models, to embedded objects, or to"
                " rows by an array of ids, which cannot be used"
            )
            return None
        target = self._models[relation.target]
        columns, others = self._columns(target), _computed_of(target)
        if computed.argument and (problem := _problem(computed, columns, others)):
            place.add(problem)
            return None
        where = _where(computed.declared[WHERE], columns)
        return None if where is None else _value(computed, columns, where)

    def _columns(self, target: RelatedModel) -> Columns:
        """Return the stored properties of a model: of one in Python, those that clients see."""
        found = dict[str, Column]()
        if resource := self._resources.get(target.resource):
            keys = {id(column): key for key, column in inspect(resource.model).columns.items()}
            shown = resource.properties.items()
            found = {name: Column(keys[id(column)], column.type) for name, column in shown}
        if definition := target.definition:
            for name in (definition.id.name, *definition.properties):
                found[name] = Column(definition.column_of(name), _type_of(definition, name))
        return found


def _type_of(definition: Definition, name: str) -> TypeEngine[Any]:
    if name != definition.id.name:
        return definition.properties[name].type.column_type
    type_ = definition.id.type
    return type_() if isinstance(type_, type) else type_


def _computed_of(target: RelatedModel) -> Mapping[str, DeclaredComputed]:
    return target.definition.computed if target.definition else {}


def _kinds(columns: Columns) -> dict[str, Any]:
    form = app_id_form()
    return {name: kind_of(column.type, form) for name, column in columns.items()}


def _problem(computed: DeclaredComputed, columns: Columns, others: Mapping[str, object]) -> str:
    """Return why a function has no such argument; empty if it has."""
    name = computed.argument
    if name in others:
        return f"{name} is computed itself; functions are of stored properties"
    if name not in columns:
        meant = suggest(name, columns)
        return f"the rows of {computed.relation} have no property {name!r}{meant}"
    functions = [word for word in uses_of(columns[name].type).functions if word in FUNCTIONS]
    if computed.word not in functions:
        return f"there is no {computed.word} of {name}; there is {' and '.join(functions)}"
    return ""


def _where(declared: Declaration, columns: Columns) -> Where | None:
    """Return the conditions for the rows that count; None, with a problem, if they are invalid."""
    model = FilteredModel(_kinds(columns))
    try:
        return read_where(dict(declared.mapping), model)
    except InvalidFilter as error:
        declared.add(str(error.description).rstrip("."))
        return None


def _value(computed: DeclaredComputed, columns: Columns, where: Where) -> RelatedValue:
    argument = columns.get(computed.argument)
    values = values_of(argument.type, app_id_form()) if argument else None
    return RelatedValue(
        key=computed.column,
        relation=computed.relation,
        word=computed.word,
        attribute=argument.attribute if argument else "",
        result=result_of_related(computed.word, values),
        where=where,
        attributes={name: column.attribute for name, column in columns.items()},
        visible_to_caller=computed.is_visible_to_caller,
        description=computed.description,
    )
