"""Conditions on related rows, and orders by them, in SQL.

Each relation is a subquery on an alias of its target, whose table may be that of the rows
themselves. Only rows that the caller may read count: those that an include would show.

A request costs no more than the rows of its tables together, and not their product: rows to which
a second relation leads are selected once, and so are those to which several rows lead, whose texts
would be compared once for each of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    FromClause,
    and_,
    cast,
    false,
    literal_column,
    not_,
    select,
    true,
)

from app.access.policy import Grant
from app.database.array_ids import AnyItem
from app.database.columns import AnyColumn

from .filters import sql
from .filters.related import FilteredModel
from .filters.tree import Filter, Place, Related, RelationPath
from .relations import BELONGS_TO, HAS_ONE, REFERENCES_MANY, Relation
from .resource import Resource
from .rows.computed import ComputedColumn, Elements
from .rows.repository import Repository
from .rows.values import Condition, Conditions, Element, Statement

ONE: ColumnElement[int] = literal_column("1")


class RelatedCollection(Protocol):
    """What relations use of a collection."""

    name: str
    resource: Resource
    rows: Repository
    properties: dict[str, AnyColumn]

    @property
    def included_model(self) -> FilteredModel:
        """What filters may use of included rows."""

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations by name."""

    @property
    def shown_relations(self) -> Mapping[str, Relation]:
        """The relations that clients may use."""

    def target(self, relation: Relation) -> "RelatedCollection":
        """Return the collection that a relation leads to, without its scope."""

    def usual_filter(self, scope: Mapping[str, object]) -> Filter:
        """Return the default filter within the scope of a relation: where, order and fields."""

    def related_grant(self, method: str, relation: str) -> Grant:
        """Return the caller's grant for a method; raise the access error."""


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
        step = self.follow(related.path[-1])
        met = sql.conditions(related.where, step.rows.columns, step.rows)
        if related.quantifier == "every":
            # A condition whose value is NULL is not met.
            met = [and_(true(), *met).is_not(true())]
        found = step.condition(met)
        return found if related.quantifier == "some" else not_(found)

    def values(self, place: Place) -> list[Element]:
        """Return the values to order by of a place in a related row; NULL if there is none."""
        name, *others = place.relations
        step, rest = self.follow(name), replace(place, relations=tuple(others))
        rows = step.rows
        found = rows.values(rest) if others else sql.values(rest, rows.columns)
        return [step.first(value) for value in found]

    @property
    def columns(self) -> Mapping[str, Element]:
        """What the properties are compared by, in the table or alias."""
        return Elements(self.collection.properties, self._element)

    def _element(self, column: AnyColumn) -> Element:
        return column.on(self.table) if isinstance(column, ComputedColumn) else self.on(column)

    def on(self, column: AnyColumn) -> AnyColumn:
        """Return a column of the collection's table in the alias."""
        found: Any = self.table.corresponding_column(column)
        found.info = column.info
        return found  # type: ignore[no-any-return]

    def follow(self, name: str) -> "Step":
        """Return the subquery of the rows to which a relation leads."""
        relation = self.collection.relations[name]
        target = self.collection.target(relation)
        table = target.rows.key.table.alias()
        rows = RelatedRowsSql(target, table, self.grants, (*self.path, name))
        usual = target.usual_filter(relation.scope)
        within = sql.conditions(usual.where, rows.columns)
        common = target.rows.common.items()
        within += [rows.on(target.rows.column(name)) == value for name, value in common]
        order = [*sql.orders(usual.order, rows.columns), rows.on(target.rows.key)]
        return Step(self, relation, rows, [*rows.permitted(), *within], order)

    def permitted(self) -> Conditions:
        """Return the conditions for the rows of the alias that the caller may read."""
        grant, rows = self.grants[self.path], self.collection.rows
        if grant is None:
            return [false()]
        if not grant.by_row:
            return grant.scope(None if rows.owner is None else self.on(rows.owner))
        # Conditions of dynamic roles are about the table itself, and may be any SQL.
        is_row = select(ONE).select_from(rows.key.table).where(rows.key == self.on(rows.key))
        return [is_row.where(*rows.scope(grant)).correlate(self.table).exists()]


class Step(NamedTuple):
    """The rows to which a relation leads: those that the caller may read, within its scope."""

    parent: RelatedRowsSql
    relation: Relation
    rows: RelatedRowsSql
    conditions: list[Condition]
    # Decides which of several rows counts for a relation to one.
    order: list[Element]

    def condition(self, met: Sequence[Condition]) -> Condition:
        """Return the condition that a row leads to one that meets conditions; never NULL."""
        if self.relation.kind == REFERENCES_MANY:
            return AnyItem(self._held, self._select(self._key, met))
        if self.relation.through is not None:
            return self._linked(met)
        # A value that few rows have is found by its index.
        if self._is_selected_once or (self.relation.kind == BELONGS_TO and met):
            return self._is_held(self._select(self._key, [*met, self._key.is_not(None)]))
        return self._correlated(ONE).where(*met).exists()

    @property
    def _is_selected_once(self) -> bool:
        """Whether the rows are selected for all rows of the parent, to which a relation leads."""
        return bool(self.parent.path)

    def _linked(self, met: Sequence[Condition]) -> Condition:
        """Return the condition that a link leads to a row that meets conditions."""
        links, own, other = self._links
        is_met = other.in_(self._select(self._key, met))
        if self._is_selected_once:
            linked = select(own).where(is_met, own.is_not(None))
            return self._is_held(linked.correlate(None))
        linked = select(ONE).select_from(links).where(own == self._held, is_met)
        return linked.correlate_except(links).exists()

    @property
    def _links(self) -> tuple[FromClause, Element, Element]:
        """An alias of the links, with their ids of the parent and of the related row."""
        links = self.relation.links.alias()
        own, other = (
            links.corresponding_column(self.relation.link(name))
            for name in self.relation.attributes
        )
        return links, own, other

    def _is_held(self, keys: Statement) -> Condition:
        """Return the condition that a row of the parent has one of the keys."""
        return and_(self._held.is_not(None), self._held.in_(keys))

    def first(self, value: Element) -> Element:
        """Return a value of the row of a relation to one; NULL if there is none."""
        return self._correlated(value).order_by(*self.order).limit(1).scalar_subquery()

    def function(self, value: Element, met: Sequence[Condition]) -> Element:
        """Return a function of those rows of a row of the parent that meet conditions."""
        found = select(value).select_from(self.rows.table)
        found = found.where(*self._belonging, _as_one(*self.conditions, *met))
        if self.relation.kind == HAS_ONE:
            key = self.rows.on(self.rows.collection.rows.key)
            first = select(key).where(*self._belonging, _as_one(*self.conditions))
            first = first.order_by(*self.order).limit(1).correlate_except(self.rows.table)
            found = found.where(key == first.scalar_subquery())
        return found.correlate_except(self.rows.table).scalar_subquery()

    @property
    def _belonging(self) -> list[Condition]:
        """The conditions that a row belongs to a row of the parent."""
        if self.relation.through is not None:
            return [self._key.in_(self._linked_ids)]
        return [self._key == self._held, *self._of_type]

    @property
    def _linked_ids(self) -> Statement:
        """The ids that links of a row of the parent have."""
        links, own, other = self._links
        return select(other).select_from(links).where(own == self._held).correlate_except(links)

    def _select(self, value: Element, met: Sequence[Condition]) -> Statement:
        """Return the statement for a value of all rows that meet conditions."""
        found = select(value).select_from(self.rows.table)
        return found.where(*self._of_type, *self.conditions, *met).correlate(None)

    def _correlated(self, value: Element) -> Statement:
        """Return the statement for a value of the rows that belong to a row of the parent."""
        found = select(value).select_from(self.rows.table)
        found = found.where(*self._belonging, *self.conditions)
        return found.correlate_except(self.rows.table)

    @property
    def _key(self) -> Element:
        """The column of the related rows that has the id of a row of the parent, or their own."""
        target, relation = self.rows.collection.rows, self.relation
        is_own = relation.has_own_key or relation.through is not None
        return self.rows.on(target.key if is_own else target.column(relation.foreign_key))

    @property
    def _held(self) -> Element:
        """The column of the parent's rows that leads to related rows."""
        rows, relation = self.parent.collection.rows, self.relation
        held = rows.column(relation.foreign_key) if relation.has_own_key else rows.key
        column = self.parent.on(held)
        # The id in a key for several tables may be text.
        return cast(column, self._key.type) if relation.discriminator else column

    @property
    def _of_type(self) -> list[Condition]:
        """The condition that a row belongs to a row of the parent's model, if it is checked."""
        relation = self.relation
        if not relation.discriminator:
            return []
        column = self.rows.on(self.rows.collection.rows.column(relation.discriminator))
        return [column == relation.type_name]


def _as_one(*conditions: Condition) -> Condition:
    """Return the conditions as one for which no index is used.

    SQLite would use that of an owner, which may lead to all rows, for each row of the parent.
    """
    return and_(true(), *conditions).is_(true())
