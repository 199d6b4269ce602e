"""Which relations a filter includes, read and bounded before any of their rows is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import InvalidFilter, quote

from .filters import Filter
from .resource import Relation, Resource, resource_named
from .where import Column

# How many relations may follow one another: users, their to-dos, what belongs to these.
MAX_LEVELS = 3
# Relations that one filter may include, at all levels together; each is a query.
MAX_INCLUDES = 10

Keys = tuple[Column, ...]


@dataclass(frozen=True)
class Include:
    """A relation whose rows go into the objects."""

    # Where it stands, for errors: `include.todos.owner`.
    place: str
    name: str
    relation: Relation
    target: Resource
    # Which of the target's rows, and what is included into these.
    filter_: Filter
    inner: "list[Include]"


def parse_includes(resource: Resource, filter_: Filter) -> list[Include]:
    """Return what a filter includes; raise InvalidFilter."""
    includes = _parse(resource, filter_, "include", ())
    if _count(includes) > MAX_INCLUDES:
        raise InvalidFilter(f"include: a filter includes at most {MAX_INCLUDES} relations.")
    return includes


def _count(includes: list[Include]) -> int:
    return len(includes) + sum(_count(each.inner) for each in includes)


def _parse(resource: Resource, filter_: Filter, place: str, keys: Keys) -> list[Include]:
    return [_include(resource, name, scope, place, keys) for name, scope in filter_.include.items()]


def _include(
    resource: Resource, name: str, scope: Mapping[str, Any], place: str, keys: Keys
) -> Include:
    """Read one relation; `keys` are the foreign keys on the way from the filter's own rows."""
    relation = resource.relations.get(name)
    if relation is None:
        known = ", ".join(resource.relations) or "none"
        raise InvalidFilter(f"There is no relation '{quote(name)}'; there are {known}.")
    place = f"{place}.{name}"
    target = resource_named(relation.target)
    keys = (*keys, (target if relation.many else resource).rows.column(relation.foreign_key))
    if len(keys) > MAX_LEVELS:
        raise InvalidFilter(f"{place}: relations are included at most {MAX_LEVELS} deep.")
    # Back over a key, each of n rows would have the n rows again.
    if len(set(keys)) < len(keys):
        raise InvalidFilter(f"{place} leads back to what it is included into.")
    inner = target.parse(scope)
    return Include(place, name, relation, target, inner, _parse(target, inner, place, keys))
