"""Includes of a filter: parsed and limited before any row is read, and their statements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import Column, FromClause, func, inspect, select

from app.access.policy import Grant, find_grant
from app.database.dialects import Among
from app.errors import InvalidFilter, quote
from app.rest.collection import Collection, served_collections
from app.rest.filters.bounds import check_cost
from app.rest.filters.tree import Filter
from app.rest.relations import Relation
from app.rest.rows.repository import LIMIT, Conditions
from app.rest.rows.results import KeptStatement, Statement

#: Levels of includes.
MAX_LEVELS = 3
#: Includes of a filter, at all levels together; each is a query.
MAX_INCLUDES = 10

# The parameter with the ids of the rows, or of those that they belong to.
IDS = "ids"
# Each is a foreign key, or the model between both sides.
Keys = tuple[object, ...]


@dataclass(frozen=True)
class Include:
    """A relation whose rows are included in a response."""

    # The path in the filter, for errors: `include.todos.owner`.
    path: str
    name: str
    relation: Relation
    # The collection itself, if the relation leads to what it embeds.
    target: Collection
    # The filter for the target's rows, and the includes nested in it.
    filter_: Filter
    inner: "list[Include]"
    # The collection whose rows it is included into.
    parent: Collection

    @cached_property
    def statement(self) -> KeptStatement:
        """The statement that reads the rows."""
        build = self._select_by_id if self.relation.has_own_key else self._select_of_parents
        return KeptStatement(self.target.rows.owner, build)

    @property
    def most(self) -> int:
        """How many rows one id leads to at most: its own, or those that belong to it."""
        return 1 if self.relation.has_own_key else self.filter_.limit

    def grant(self, method: str) -> Grant | None:
        """Return the caller's grant for a method of the target; raise the access error.

        None: nothing is included, where rules of the parent decide on most includes but not on
        this one, such as that of users.
        """
        if not self.parent.resource.ruled_by_parent or self.target.resource.ruled_by_parent:
            return self.target.related_grant(method, self.path)
        grant = find_grant(self.target.name, method)
        return grant if grant.decision else None

    def values(self, rows: Sequence[Any]) -> list[Any]:
        """Return what the rows that it is included into have in the relation's attribute."""
        return [self.parent.rows.value(row, self.relation.foreign_key) for row in rows]

    def _select_by_id(self, conditions: Conditions) -> Statement:
        """Return the statement for rows with some ids, in the order of the filter if it matters."""
        rows = self.target.rows
        # One row for each needs no order.
        is_ordered = self.filter_.order and self.relation.many
        return (
            select(*rows.columns_for(self.filter_))
            .where(Among(rows.key, IDS), *self._selected(conditions))
            .order_by(*(rows.order(self.filter_) if is_ordered else ()))
            .limit(LIMIT)
        )

    def _select_of_parents(self, conditions: Conditions) -> Statement:
        """Return the statement for the rows of some parents; limit and skip apply to each parent.

        Each row has the id of its parent as `parent_`, and its place among those of the parent.
        """
        rows, filter_ = self.target.rows, self.filter_
        table, parent = self._with_links()
        rank = func.row_number().over(partition_by=parent, order_by=rows.order(filter_))
        numbered = (
            select(rows.key.label("id_"), parent.label("parent_"), rank.label("rank_"))
            .select_from(table)
            .where(Among(parent, IDS), *self._selected(conditions))
            .subquery()
        )
        page = numbered.c.rank_.between(filter_.skip + 1, filter_.skip + filter_.limit)
        return (
            select(*rows.columns_for(filter_), numbered.c.parent_, numbered.c.rank_)
            .join(numbered, numbered.c.id_ == rows.key)
            .where(page)
            .limit(LIMIT)
        )

    def _selected(self, conditions: Conditions) -> Conditions:
        rows = self.target.rows
        return [*conditions, *rows.conditions(self.filter_), *rows.restriction]

    def _with_links(self) -> tuple[FromClause, Column[Any]]:
        """Return the table of the target, and the column with the ids of what its rows belong to.

        The model between both sides is joined to it, if there is one.
        """
        rows, relation = self.target.rows, self.relation
        if relation.through is None:
            return rows.key.table, rows.column(relation.foreign_key)
        # The model between both may be the target itself.
        links = relation.links.alias()
        parent, key = (
            links.corresponding_column(relation.link(name))
            for name in (relation.foreign_key, relation.target_key)
        )
        return rows.key.table.join(links, key == rows.key), parent


def parse_includes(collection: Collection, filter_: Filter) -> list[Include]:
    """Return the includes of a filter; raise InvalidFilter."""
    includes = _parse(collection, filter_, "include", ())
    filters = list(_filters(includes))
    if len(filters) > MAX_INCLUDES:
        raise InvalidFilter(f"include: a filter includes at most {MAX_INCLUDES} relations.")
    if filters:
        check_cost([filter_, *filters])
    return includes


def _filters(includes: list[Include]) -> Iterator[Filter]:
    """Yield the filter of each include, at any level."""
    for include in includes:
        yield include.filter_
        yield from _filters(include.inner)


def _parse(collection: Collection, filter_: Filter, path: str, keys: Keys) -> list[Include]:
    return [
        _include(collection, name, scope, path, keys) for name, scope in filter_.include.items()
    ]


def _include(
    collection: Collection, name: str, scope: Mapping[str, object], path: str, keys: Keys
) -> Include:
    """Parse one include; `keys` are the foreign keys of the includes that it is nested in."""
    relation = collection.relations.get(name)
    if relation is None:
        known = ", ".join(collection.relations) or "none"
        raise InvalidFilter(f"There is no relation '{quote(name)}'; there are {known}.")
    path = f"{path}.{name}"
    if relation.is_embedded:
        if any(scope.values()):
            raise InvalidFilter(f"{path} takes no scope: what is embedded is included whole.")
        return Include(path, name, relation, collection, Filter(), [], collection)
    target = served_collections.current[relation.target]
    keys = (*keys, _key(collection, relation, target))
    if len(keys) > MAX_LEVELS:
        raise InvalidFilter(f"{path}: relations are included at most {MAX_LEVELS} deep.")
    # Following the same key back would return n rows for each of n rows.
    if len(set(keys)) < len(keys):
        raise InvalidFilter(f"{path} leads back to what it is included into.")
    inner = target.parse_included(scope)
    if not relation.many:
        inner = replace(inner, limit=1, skip=0)
    nested = _parse(target, inner, path, keys)
    return Include(path, name, relation, target, inner, nested, collection)


def _key(collection: Collection, relation: Relation, target: Collection) -> object:
    """Return what a relation follows, which the way back would follow too."""
    if relation.through is not None:
        return relation.through
    holder = relation.holder(collection.model, target.model)
    return inspect(holder).columns[relation.foreign_key]
