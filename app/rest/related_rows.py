"""Relations in the filters of a collection: which ones they may use, and their SQL.

A relation becomes a correlated subquery on an alias of its target, whose table may be that of the
rows themselves. Only rows that the caller may read count: those that an include would show.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    FromClause,
    and_,
    cast,
    false,
    func,
    literal_column,
    not_,
    select,
    true,
)

from app.access.policy import Grant, find_grant
from app.database.columns import AnyColumn
from app.database.dialects import InArray
from app.errors import InvalidFilter

from .filters import sql
from .filters.kinds import Kind
from .filters.related import FilteredModel
from .filters.sql import NO_RELATIONS, RelatedSql
from .filters.tree import Filter, Place, Related, RelationPath
from .relations import BELONGS_TO, REFERENCES_MANY, Relation
from .resource import Resource
from .rows.grants import NO_GRANTS, RelatedGrants, general_form
from .rows.repository import Repository
from .rows.values import Condition, Conditions, Element, Statement

ONE: ColumnElement[int] = literal_column("1")


class RelatedCollection(Protocol):
    """What relations use of a collection."""

    name: str
    resource: Resource
    rows: Repository
    properties: dict[str, AnyColumn]
    filterable: dict[str, Kind]
    included_filterable: dict[str, Kind]

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations by name."""

    @property
    def shown_relations(self) -> Mapping[str, Relation]:
        """The relations that clients may use."""

    def target(self, relation: Relation) -> "RelatedCollection":
        """Return the collection that a relation leads to, without its scope."""

    def usual_filter(self, scope: Mapping[str, object]) -> Filter:
        """Return the default filter within the scope of a relation."""

    def related_grant(self, method: str, relation: str) -> Grant:
        """Return the caller's grant for a method; raise the access error."""


def filtered_model(collection: RelatedCollection) -> FilteredModel:
    """Return what filters may use of a collection."""
    return FilteredModel(collection.filterable, partial(_find_related, collection))


def included_model(collection: RelatedCollection, is_many: bool = False) -> FilteredModel:
    """Return what filters may use of rows that are included into others."""

    def find(name: str) -> FilteredModel | None:
        is_protected = name in collection.resource.protected
        return None if is_protected else _find_related(collection, name)

    return FilteredModel(collection.included_filterable, find, is_many)


def _find_related(collection: RelatedCollection, name: str) -> FilteredModel | None:
    """Return what filters may use of the rows that a relation leads to.

    None if there is no such relation. Raises InvalidFilter for one that filters cannot use.
    """
    relation = collection.shown_relations.get(name)
    if relation is None:
        return None
    if relation.has_types:
        raise InvalidFilter(f"{name} leads to rows of several models, which filters cannot use.")
    if relation.is_embedded:
        shown = collection.properties.items()
        held = next((held for held, column in shown if column.key == relation.foreign_key), name)
        raise InvalidFilter(f"{name} leads to embedded objects; use paths, such as {held}.name.")
    target = collection.target(relation)
    if not target.rows.in_database:
        raise InvalidFilter(f"{name} leads to rows of a data source, which filters cannot use.")
    return included_model(target, relation.many)


def grant_to_related(
    parent: RelatedCollection, relation: Relation, target: RelatedCollection, path: str
) -> Grant | None:
    """Return the caller's grant for including the rows of a relation; raise the access error.

    None if no row is shown: if the target differs between rows, or if the parent's rules decide on
    most includes but not on this one, such as of users.
    """
    may_be_none = relation.has_types or parent.resource.ruled_by_parent
    if not may_be_none or target.resource.ruled_by_parent:
        return target.related_grant(relation.read_method, path)
    grant = find_grant(target.name, relation.read_method)
    return grant if grant.decision else None


class Link(NamedTuple):
    """How the rows of a relation are linked to those that have it."""

    # The rows, joined with the table of links if there is one.
    source: FromClause
    # The key there, and what it must equal, or be an item of, in the rows that have the relation.
    key: Element
    held: Element
    is_item: bool = False
    type_conditions: tuple[Condition, ...] = ()

    @property
    def condition(self) -> Condition:
        """The condition that two rows are linked."""
        linked: Condition = InArray(self.key, self.held) if self.is_item else self.key == self.held
        return linked


class RelatedRows:
    """The relations of a collection, in the SQL of its filters."""

    def __init__(self, collection: RelatedCollection) -> None:
        self._collection = collection

    def grants(self, filter_: Filter) -> RelatedGrants:
        """Return the caller's grants for the relations of a filter; raise the access error."""
        if not filter_.relations:
            return NO_GRANTS
        found = dict[RelationPath, Grant | None]()
        general = dict[RelationPath, Grant | None]()
        for path in dict.fromkeys(filter_.relations):
            *before, name = path
            parent = self._collection
            for step in before:
                parent = parent.target(parent.relations[step])
            relation = parent.relations[name]
            target = parent.target(relation)
            grant = grant_to_related(parent, relation, target, ".".join(path))
            found[path] = grant
            if grant is None:
                general[path] = None
            elif form := general_form(grant, target.rows.owner):
                general[path] = form
        is_general = len(general) == len(found)
        return RelatedGrants(found, tuple(general.items()) if is_general else None)

    def sql(self, filter_: Filter, grants: RelatedGrants | None = None) -> RelatedSql:
        """Return the SQL about the related rows that grants cover, by default the caller's."""
        if not filter_.relations:
            return NO_RELATIONS
        permitted = (grants or self.grants(filter_)).by_path
        return RelatedRowsSql(self._collection, self._collection.rows.key.table, permitted)


@dataclass(frozen=True)
class RelatedRowsSql:
    """Correlated subqueries about the rows to which relations lead from those of a table."""

    collection: RelatedCollection
    # The collection's table, or an alias of it.
    table: FromClause
    grants: Mapping[RelationPath, Grant | None]
    # The relations that lead to the table.
    path: RelationPath = ()

    def condition(self, related: Related) -> ColumnElement[bool]:
        """Return a condition on related rows."""
        step = self._follow(related.path[-1])
        met = sql.conditions(related.where, step.rows.columns, step.rows)
        if related.quantifier == "every":
            # A condition whose value is NULL is not met.
            met = [and_(true(), *met).is_not(true())]
        # What a second relation leads to is selected once for all rows of the first one.
        found = step.contains(met) if self._selects_once(step, related) else step.exists(met)
        return found if related.quantifier == "some" else not_(func.coalesce(found, false()))

    def _selects_once(self, step: "Step", related: Related) -> bool:
        """Return True if the related rows are selected independently of the rows of the table.

        A rare value of a row that others belong to is then found by its index.
        """
        if step.link.is_item:
            return False
        relation = self.collection.relations[related.path[-1]]
        return bool(self.path or (relation.kind == BELONGS_TO and related.where))

    def values(self, place: Place) -> list[Element]:
        """Return the values to order by of a place in a related row; NULL if there is none."""
        name, *others = place.relations
        step, rest = self._follow(name), replace(place, relations=tuple(others))
        rows = step.rows
        found = rows.values(rest) if others else sql.values(rest, rows.columns)
        return [step.first(value) for value in found]

    @property
    def columns(self) -> Mapping[str, AnyColumn]:
        """The columns of properties, in the table or alias."""
        return {name: self._on(column) for name, column in self.collection.properties.items()}

    def _on(self, column: AnyColumn) -> AnyColumn:
        """Return a column of the collection's table in the alias."""
        found: Any = self.table.corresponding_column(column)
        found.info = column.info
        return found  # type: ignore[no-any-return]

    def _follow(self, name: str) -> "Step":
        """Return the subquery of the rows to which a relation leads."""
        relation = self.collection.relations[name]
        target = self.collection.target(relation)
        table = target.rows.key.table.alias()
        rows = RelatedRowsSql(target, table, self.grants, (*self.path, name))
        usual = target.usual_filter(relation.scope)
        link = self._link(relation, rows)
        within = sql.conditions(usual.where, rows.columns)
        order = [*sql.orders(usual.order, rows.columns), rows._on(target.rows.key)]
        return Step(rows, link, [*link.type_conditions, *rows.permitted(), *within], order)

    def _link(self, relation: Relation, rows: "RelatedRowsSql") -> Link:
        """Return how the rows of a relation are linked."""
        own, target = self.collection.rows, rows.collection.rows
        own_key, target_key = self._on(own.key), rows._on(target.key)
        if relation.through is not None:
            links = relation.links.alias()
            key, other = (
                links.corresponding_column(relation.link(name))
                for name in (relation.foreign_key, relation.target_key)
            )
            return Link(rows.table.join(links, other == target_key), key, own_key)
        if relation.has_own_key:
            held = self._on(own.column(relation.foreign_key))
            return Link(rows.table, target_key, held, relation.kind == REFERENCES_MANY)
        key = rows._on(target.column(relation.foreign_key))
        if not relation.discriminator:
            return Link(rows.table, key, own_key)
        type_name = rows._on(target.column(relation.discriminator))
        # The id in a key for several tables may be text.
        own_id = cast(own_key, key.type)
        return Link(rows.table, key, own_id, type_conditions=(type_name == relation.type_name,))

    def permitted(self) -> Conditions:
        """Return the conditions for the rows of the alias that the caller may read."""
        grant, rows = self.grants[self.path], self.collection.rows
        if grant is None:
            return [false()]
        if not grant.by_row:
            return grant.scope(None if rows.owner is None else self._on(rows.owner))
        # Conditions of dynamic roles are about the table itself, and may be any SQL.
        is_row = select(ONE).select_from(rows.key.table).where(rows.key == self._on(rows.key))
        return [is_row.where(*rows.scope(grant)).correlate(self.table).exists()]


class Step(NamedTuple):
    """A subquery of the rows to which a relation leads."""

    rows: RelatedRowsSql
    link: Link
    conditions: list[Condition]
    # Decides which of several rows counts for a relation to one.
    order: list[Element]

    def exists(self, conditions: Conditions) -> Condition:
        """Return the condition that some of the rows meet conditions, for each row separately."""
        return self._correlated(ONE).where(*conditions).exists()

    def contains(self, conditions: Conditions) -> Condition:
        """Return the same by the keys of all rows that are linked to some that meet conditions."""
        source, key, held, *_ = self.link
        keys = select(key).select_from(source).where(*self.conditions, *conditions)
        return held.in_(keys.where(key.is_not(None)).correlate(None))

    def first(self, value: Element) -> Element:
        """Return a value of the first row, if there may be several; NULL if there is none."""
        return self._correlated(value).order_by(*self.order).limit(1).scalar_subquery()

    def _correlated(self, value: Element) -> Statement:
        found = select(value).select_from(self.link.source)
        found = found.where(self.link.condition, *self.conditions)
        return found.correlate_except(self.rows.table)
