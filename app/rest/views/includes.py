"""Parse the includes of a filter, and limit them before any row is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from sqlalchemy import inspect

from app.errors import InvalidFilter, quote
from app.rest.collection import Collection, served_collections
from app.rest.filters.bounds import check_cost
from app.rest.filters.tree import Filter
from app.rest.relations import EMBEDDED, HAS_ONE, OWN_ATTRIBUTE, REFERENCES_MANY, THROUGH, Relation

from .included_rows import select_by_id, select_of_parents
from .kept import KeptStatement

#: Levels of includes.
MAX_LEVELS = 3
#: Includes of a filter, at all levels together; each is a query.
MAX_INCLUDES = 10

# Each is a foreign key, or the model between both sides.
Keys = tuple[Any, ...]


@dataclass(frozen=True)
class Include:
    """A relation whose rows are included in a response."""

    # The path in the filter, for errors: `include.todos.owner`.
    path: str
    name: str
    relation: Relation
    # The resource itself, if the relation leads to what it embeds.
    target: Collection
    # The filter for the target's rows, and the includes nested in it.
    filter_: Filter
    inner: "list[Include]"
    # The resource whose rows it is included into.
    parent: Collection

    @cached_property
    def statement(self) -> KeptStatement:
        """The statement that reads the rows."""
        if self.relation.kind == REFERENCES_MANY:
            build = partial(select_by_id, self.target, self.filter_)
        elif self.relation.kind in OWN_ATTRIBUTE:
            # One row for each needs no order.
            build = partial(select_by_id, self.target, replace(self.filter_, order=()))
        else:
            build = partial(select_of_parents, self.target, self.relation, self.filter_)
        return KeptStatement(self.target.rows, build)

    @property
    def most(self) -> int:
        """How many rows one id leads to at most: its own, or those that belong to it."""
        return 1 if self.relation.kind in OWN_ATTRIBUTE else self.filter_.limit

    def values(self, rows: Sequence[Any]) -> list[Any]:
        """Return what the rows that it is included into have in the relation's attribute."""
        return [self.parent.rows.value(row, self.relation.foreign_key) for row in rows]


def parse_includes(resource: Collection, filter_: Filter) -> list[Include]:
    """Return the includes of a filter; raise InvalidFilter."""
    includes = _parse(resource, filter_, "include", ())
    filters = list(_filters(includes))
    if len(filters) > MAX_INCLUDES:
        raise InvalidFilter(f"include: a filter includes at most {MAX_INCLUDES} relations.")
    check_cost([filter_, *filters])
    return includes


def _filters(includes: list[Include]) -> Iterator[Filter]:
    """Yield the filter of each include, at any level."""
    for each in includes:
        yield each.filter_
        yield from _filters(each.inner)


def _parse(resource: Collection, filter_: Filter, path: str, keys: Keys) -> list[Include]:
    return [_include(resource, name, scope, path, keys) for name, scope in filter_.include.items()]


def _include(
    resource: Collection, name: str, scope: Mapping[str, Any], path: str, keys: Keys
) -> Include:
    """Parse one include; `keys` are the foreign keys of the includes that it is nested in."""
    relation = resource.relations.get(name)
    if relation is None:
        known = ", ".join(resource.relations) or "none"
        raise InvalidFilter(f"There is no relation '{quote(name)}'; there are {known}.")
    path = f"{path}.{name}"
    if relation.kind in EMBEDDED:
        if any(scope.values()):
            raise InvalidFilter(f"{path} takes no scope: what is embedded is included whole.")
        return Include(path, name, relation, resource, Filter(), [], resource)
    target = served_collections.current[relation.target]
    keys = (*keys, _key(resource, relation, target))
    if len(keys) > MAX_LEVELS:
        raise InvalidFilter(f"{path}: relations are included at most {MAX_LEVELS} deep.")
    # Following the same key back would return n rows for each of n rows.
    if len(set(keys)) < len(keys):
        raise InvalidFilter(f"{path} leads back to what it is included into.")
    inner = target.parse_included(scope)
    if relation.kind == HAS_ONE:
        inner = replace(inner, limit=1, skip=0)
    nested = _parse(target, inner, path, keys)
    return Include(path, name, relation, target, inner, nested, resource)


def _key(resource: Collection, relation: Relation, target: Collection) -> Any:
    """Return what a relation follows, which the way back would follow too."""
    if relation.kind == THROUGH:
        return relation.through
    holder = relation.holder(resource.model, target.model)
    return inspect(holder).columns[relation.foreign_key]
