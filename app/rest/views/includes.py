"""Includes of a filter: parsed and limited before rows are read, and their statements."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sqlalchemy import FromClause, func, select

from app.access.policy import Grant
from app.database.columns import AnyColumn
from app.database.dialects import Among
from app.database.ids import key_value
from app.errors import InvalidFilter, quote
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.filters.bounds import check_cost
from app.rest.filters.parser import refuse_cursor
from app.rest.filters.tree import Filter
from app.rest.related_rows import grant_to_related
from app.rest.relations import Relation
from app.rest.rows.grants import RelatedGrants
from app.rest.rows.page_statement import LIMIT
from app.rest.rows.pages import KeptStatement, RowSize
from app.rest.rows.values import IDS, Conditions, Row, Statement
from app.rest.served_relations import target_of
from app.rest.visibility import Visibility

#: Maximum levels of includes.
MAX_LEVELS = 3
#: Maximum includes of a filter, on all levels together; each is a query.
MAX_INCLUDES = 10


@dataclass(frozen=True)
class IncludePlace:
    """The position of an include in a filter."""

    # The path for errors: `include.todos.owner`.
    path: str
    # The number of enclosing includes, and whether one of them leads to several models.
    level: int = 0
    is_below_several: bool = False

    def below(self, name: str, leads_to_several: bool) -> "IncludePlace":
        """Return the place of the include of a relation."""
        is_below = self.is_below_several or leads_to_several
        return IncludePlace(f"{self.path}.{name}", self.level + 1, is_below)


@dataclass(frozen=True)
class Include:
    """A relation whose rows are included in a response."""

    # The path in the filter, for errors: `include.todos.owner`.
    path: str
    name: str
    relation: Relation
    # The collection itself, if the relation leads to objects embedded in it.
    target: Collection
    # The filter for the target's rows, and the includes nested in it.
    filter_: Filter
    inner: "list[Include]"
    # The collection whose rows it is included into.
    parent: Collection
    # The include for each resource, if the target differs between rows.
    by_resource: "Mapping[str, Include]" = field(default_factory=dict)

    @cached_property
    def statement(self) -> KeptStatement:
        """The statement that reads the rows."""
        build = self._select_by_id if self.relation.has_own_key else self._select_of_parents
        rows = self.target.rows
        return KeptStatement(rows.owner, build, rows.reader)

    @cached_property
    def row_size(self) -> RowSize:
        """The measure of the rows."""
        return self.target.rows.shown.row_size(self.filter_)

    @cached_property
    def most(self) -> int:
        """The maximum rows that one id leads to: its own, or those that belong to it."""
        return 1 if self.relation.has_own_key else self.filter_.limit

    @property
    def visibility(self) -> Visibility | None:
        """The visibility of embedded objects; None: everything."""
        [name] = _embedding_properties(self.parent, self.relation)
        return self.parent.visibility.inner.get(name)

    def grant(self) -> Grant | None:
        """Return the caller's grant for the rows, as `grant_to_related` does."""
        return grant_to_related(self.parent, self.relation, self.target, self.path)

    def values(self, rows: Sequence[Row]) -> list[Any]:
        """Return the values of the relation's attribute in the rows that it is included into."""
        return self.values_of(rows, self.relation.foreign_key)

    def values_of(self, rows: Sequence[Row], attribute: str) -> list[Any]:
        """Return the values of an attribute in the rows that it is included into."""
        return [self.parent.rows.value(row, attribute) for row in rows]

    def references(self, rows: Sequence[Row]) -> Iterator[tuple[str, Id | None]]:
        """Yield the resource and id that each row leads to, if the scope applies to it."""
        names = self.values_of(rows, self.relation.discriminator)
        for name, value in zip(names, self.values(rows), strict=True):
            resource = self.relation.resource_of(name) or ""
            include = self.by_resource.get(resource)
            yield resource, include.target.id_form.parse(str(value)) if include else None

    def ids_of_parents(self, rows: Sequence[Row]) -> list[Id]:
        """Return the ids of the rows that it is included into, in the foreign key's type."""
        if not self.relation.discriminator:
            return [row.id for row in rows]
        column = self.target.rows.column(self.relation.foreign_key)
        return [key_value(column, row.id) for row in rows]

    def _select_by_id(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        """Return the statement for rows with these ids, in the filter's order if it matters."""
        rows = self.target.rows
        # A single row for each id needs no order.
        is_ordered = self.filter_.order and self.relation.many
        return (
            select(*rows.shown.selected_by(self.filter_))
            .where(Among(rows.key, IDS), *self._selected(conditions, related))
            .order_by(*(rows.order(self.filter_, related) if is_ordered else ()))
            .limit(LIMIT)
        )

    def _select_of_parents(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        """Return the statement for the rows of several parents; limit and skip apply to each.

        Each row has the id of its parent as `parent_`, and its position among that parent's rows.
        """
        rows, filter_ = self.target.rows, self.filter_
        table, parent = self._with_links()
        order = rows.order(filter_, related)
        rank = func.row_number().over(partition_by=parent, order_by=order)
        numbered = (
            select(rows.key.label("id_"), parent.label("parent_"), rank.label("rank_"))
            .select_from(table)
            .where(Among(parent, IDS), *self._of_type(), *self._selected(conditions, related))
            .subquery()
        )
        page = numbered.c.rank_.between(filter_.skip + 1, filter_.skip + filter_.limit)
        return (
            select(*rows.shown.selected_by(filter_), numbered.c.parent_, numbered.c.rank_)
            .join(numbered, numbered.c.id_ == rows.key)
            .where(page)
            .limit(LIMIT)
        )

    def _of_type(self) -> Conditions:
        """Return the condition that a row belongs to one of this model, if this must be checked."""
        relation = self.relation
        if not relation.discriminator:
            return []
        return [self.target.rows.column(relation.discriminator) == relation.type_name]

    def _selected(self, conditions: Conditions, related: RelatedGrants) -> Conditions:
        rows = self.target.rows
        return [*conditions, *rows.conditions(self.filter_, related), *rows.restriction]

    def _with_links(self) -> tuple[FromClause, AnyColumn]:
        """Return the table of the target, and the column with the ids of its parents.

        The model in between, if any, is joined.
        """
        rows, relation = self.target.rows, self.relation
        if relation.through is None:
            return rows.key.table, rows.column(relation.foreign_key)
        # The model in between may be the target itself.
        links = relation.links.alias()
        parent, key = (
            links.corresponding_column(relation.link(name))
            for name in (relation.foreign_key, relation.target_key)
        )
        return rows.key.table.join(links, key == rows.key), parent


def parse_includes(collection: Collection, filter_: Filter) -> list[Include]:
    """Return the includes of a filter; raise InvalidFilter."""
    includes = _parse(collection, filter_, IncludePlace("include"))
    filters = list(included_filters(includes))
    if len(filters) > MAX_INCLUDES:
        raise InvalidFilter(f"include: a filter includes at most {MAX_INCLUDES} relations.")
    if filters:
        check_cost([filter_, *filters])
    return includes


def check_scope(collection: Collection, name: str) -> None:
    """Raise InvalidFilter if the scope of a relation, or its includes, are invalid."""
    relation = collection.relations[name]
    target = target_of(relation)
    parse_includes(target, target.parse(None))
    parse_includes(collection, Filter(include={name: {}}))


def included_filters(includes: list[Include]) -> Iterator[Filter]:
    """Yield the filter of each include, on any level."""
    for include in includes:
        yield include.filter_
        # Includes of several resources are alike; the number of rows is limited when they are read.
        inner = [list(included_filters(each.inner)) for each in include.by_resource.values()]
        yield from max(inner, key=len, default=()) if inner else included_filters(include.inner)


def _parse(collection: Collection, filter_: Filter, place: IncludePlace) -> list[Include]:
    return [_include(collection, name, scope, place) for name, scope in filter_.include.items()]


def _include(
    collection: Collection, name: str, scope: Mapping[str, object], place: IncludePlace
) -> Include:
    """Parse one include, at a position in the filter."""
    relation = collection.shown_relations.get(name)
    if relation is None:
        known = ", ".join(collection.shown_relations) or "none"
        raise InvalidFilter(f"There is no relation '{quote(name)}'; there are {known}.")
    below = place.below(name, relation.has_types)
    names = {name, *_embedding_properties(collection, relation)}
    if place.level and names & collection.resource.protected:
        raise InvalidFilter(f"{below.path} is not shown where its row is included.")
    if relation.is_embedded:
        if any(scope.values()):
            raise InvalidFilter(f"{below.path} takes no scope: what is embedded is included whole.")
        return Include(below.path, name, relation, collection, Filter(), [], collection)
    if not relation.has_types:
        return _include_of(collection, target_of(relation), name, scope, below)
    if place.is_below_several:
        raise InvalidFilter(
            f"{below.path} leads to several models, and is included into such rows."
        )
    return _include_any(collection, name, scope, below)


def _embedding_properties(collection: Collection, relation: Relation) -> list[str]:
    """Return the property with the objects that a relation embeds, if it does."""
    shown = collection.properties.items() if relation.is_embedded else ()
    return [name for name, column in shown if column.key == relation.foreign_key]


def _include_any(
    collection: Collection, name: str, scope: Mapping[str, object], place: IncludePlace
) -> Include:
    """Parse an include of rows of several resources: those to which the scope applies."""
    relation, by_resource = collection.relations[name], dict[str, Include]()
    problem = InvalidFilter()
    collections = served_collections.current
    targets = {resource: collections[resource] for resource in relation.types.values()}
    known = {property_ for target in targets.values() for property_ in target.filterable}
    for resource, target in targets.items():
        try:
            fitting = _fitting(scope, target, known)
            include = _include_of(collection, target, name, fitting, place)
        except InvalidFilter as error:
            problem = error
        else:
            by_resource[resource] = include
    if not by_resource:
        raise problem
    first = next(iter(by_resource.values()))
    return replace(first, target=collection, by_resource=by_resource)


def _fitting(
    scope: Mapping[str, object], target: Collection, known: Container[str]
) -> Mapping[str, object]:
    """Return a scope without fields that only other models have; `known` are those of all."""
    given = scope.get("fields")
    own = target.filterable
    if isinstance(given, Mapping):
        fields: object = {name: given[name] for name in given if name in own or name not in known}
    elif isinstance(given, list):
        fields = [name for name in given if name in own or name not in known] or [target.id_name]
    else:
        return scope
    return {**scope, "fields": fields}


def _include_of(
    collection: Collection,
    target: Collection,
    name: str,
    scope: Mapping[str, object],
    place: IncludePlace,
) -> Include:
    """Parse an include of the rows of one resource, at a position.

    Includes may form cycles: the budget limits the number of rows.
    """
    relation = collection.relations[name]
    if place.level > MAX_LEVELS:
        raise InvalidFilter(f"{place.path}: relations are included at most {MAX_LEVELS} deep.")
    inner = target.parse_included(scope)
    refuse_cursor(inner)
    if not relation.many:
        inner = replace(inner, limit=1, skip=0)
    nested = _parse(target, inner, place)
    return Include(place.path, name, relation, target, inner, nested, collection)
