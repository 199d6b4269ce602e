"""The parser of aggregates: groups, functions, and conditions and an order of their results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.errors import InvalidFilter, quote
from app.rest.collection import Collection
from app.rest.filters.bounds import check_cost, check_size
from app.rest.filters.kinds import Kind
from app.rest.filters.parser import parse_filter, parse_where
from app.rest.filters.searches import count_search
from app.rest.filters.tree import MAX_LIMIT, Filter, Order, Place, relation_paths
from app.rest.functions import FUNCTIONS

from .functions import Function, make_function
from .properties import Properties, Property

#: Maximum functions of an aggregate.
MAX_FUNCTIONS = 10
#: Maximum properties by which an aggregate groups rows.
MAX_GROUPS = 5
# What chooses among the results, as in a filter.
PAGE_KEYS = ("limit", "offset", "order", "skip")
KEYS = ("aggregate", "groupBy", "having", "where", *PAGE_KEYS)
# The argument of `count` that means rows.
ROWS = "*"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
# Names that a condition reads otherwise.
RESERVED = ("and", "or")


@dataclass(frozen=True)
class Group:
    """A property whose values group the rows, or the units of time that they are in."""

    source: Property
    unit: str = ""

    @property
    def name(self) -> str:
        """The key of the value in the answer."""
        return self.source.name

    @property
    def kind(self) -> Kind:
        """The kind of the value."""
        return self.source.kind


@dataclass(frozen=True)
class Aggregate:
    """A parsed aggregate."""

    # The rows that it is about.
    rows: Filter
    groups: Sequence[Group]
    functions: Sequence[Function]
    # What it shows of the results: `having` as `where`, `order`, `limit` and `skip`.
    results: Filter

    @property
    def names(self) -> list[str]:
        """The keys of the objects in the answer: those of groups, then those of functions."""
        return [group.name for group in self.groups] + [each.name for each in self.functions]

    @property
    def is_limited(self) -> bool:
        """Whether the client set a limit that an answer may have."""
        given: Any = self.results.raw.get("limit")
        return self.results.has_limit and int(given) <= MAX_LIMIT


def parse_aggregate(raw: Mapping[str, object] | None, collection: Collection) -> Aggregate:
    """Parse an aggregate of a collection's rows; raise InvalidFilter."""
    count_search()
    raw = raw or {}
    if unknown := raw.keys() - set(KEYS):
        raise InvalidFilter(
            f"An aggregate has no '{quote(min(unknown))}'; it has {', '.join(sorted(KEYS))}."
        )
    check_size({"where": [raw.get("where"), raw.get("having")]})
    # Without the rest of a default filter, except for what bounds the properties of a relation.
    rows = collection.parse({"where": raw.get("where"), "fields": None, "include": None})
    properties = Properties(collection, collection.filtered_model.within(rows.fields))
    groups = _groups(raw.get("groupBy"), properties)
    led_to = relation_paths((), [group.source.place for group in groups])
    rows = replace(rows, relations=(*rows.relations, *led_to))
    functions = _functions(raw.get("aggregate"), properties)
    if not groups and not functions:
        raise InvalidFilter("An aggregate needs groupBy, or a function in aggregate.")
    _check_names([*groups, *functions])
    results = _results(raw, groups, functions)
    check_cost([replace(rows, where=(*rows.where, *results.where)), _read(groups, functions)])
    return Aggregate(rows, groups, functions, results)


def _read(groups: Sequence[Group], functions: Sequence[Function]) -> Filter:
    """Return an order by what groups and functions read of each row, which costs the same."""
    sources = [group.source for group in groups]
    sources += [function.source for function in functions if function.source]
    read = (Order(Place(each.name), is_computed=each.kind.is_computed) for each in sources)
    return Filter(order=tuple(read))


def _groups(given: object, properties: Properties) -> list[Group]:
    items = [] if given is None else given if isinstance(given, list) else [given]
    if len(items) > MAX_GROUPS:
        raise InvalidFilter(f"groupBy must not have more than {MAX_GROUPS} properties.")
    return [_group(item, properties) for item in items]


def _group(given: object, properties: Properties) -> Group:
    name, unit = given, None
    if isinstance(given, dict):
        if len(given) != 1:
            raise InvalidFilter('groupBy must be properties, or like {"created": "month"}.')
        [(name, unit)] = given.items()
    property_ = properties.find_related("groupBy", name)
    if not property_.uses.is_grouped:
        raise InvalidFilter(f"groupBy: {property_.name} cannot be grouped by.")
    if not isinstance(given, dict):
        return Group(property_)
    units = property_.uses.units
    if not units:
        raise InvalidFilter(f"groupBy.{property_.name} is no time; name the property alone.")
    if not isinstance(unit, str) or unit not in units:
        raise InvalidFilter(f"groupBy.{property_.name} must be one of {', '.join(units)}.")
    return Group(property_, unit)


def _functions(given: object, properties: Properties) -> list[Function]:
    if given is None:
        return []
    if not isinstance(given, dict):
        raise InvalidFilter('aggregate must be an object like {"total": {"sum": "price"}}.')
    if len(given) > MAX_FUNCTIONS:
        raise InvalidFilter(f"aggregate must not have more than {MAX_FUNCTIONS} functions.")
    return [_function(name, value, properties) for name, value in given.items()]


def _function(name: str, given: Any, properties: Properties) -> Function:
    if not NAME.fullmatch(name) or name in RESERVED:
        raise InvalidFilter(
            f"aggregate: '{quote(name)}' is no name; one has at most 64 letters, digits and _,"
            " begins with no digit, and is neither and nor or."
        )
    if not isinstance(given, dict) or len(given) != 1:
        raise InvalidFilter(f'aggregate.{name} must be an object like {{"sum": "price"}}.')
    [(word, argument)] = given.items()
    if word not in FUNCTIONS:
        raise InvalidFilter(
            f"aggregate.{name}: there is no function '{quote(word)}'; there are"
            f" {', '.join(FUNCTIONS)}."
        )
    if word == "count" and argument == ROWS:
        return make_function(name, word, None)
    property_ = properties.find(f"aggregate.{name}.{word}", argument)
    if word not in property_.uses.functions:
        raise InvalidFilter(
            f"aggregate.{name}: {property_.name} has no {word}; it has"
            f" {', '.join(property_.uses.functions)}."
        )
    return make_function(name, word, property_)


def _check_names(results: Sequence[Group | Function]) -> None:
    """Raise InvalidFilter for two results with one name."""
    names = [result.name for result in results]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidFilter(f"'{twice[0]}' would be twice in an object of the answer.")


def _results(
    raw: Mapping[str, object], groups: Sequence[Group], functions: Sequence[Function]
) -> Filter:
    """Return what chooses among the results; groups that are not ordered by come last."""
    chosen = {name: raw[name] for name in PAGE_KEYS if name in raw}
    named: list[Group | Function] = [*groups, *functions]
    results = parse_filter(chosen, {result.name: result.kind for result in named})
    ordered = {term.place.property for term in results.order}
    rest = [Order(Place(group.name)) for group in groups if group.name not in ordered]
    where = _having(raw.get("having"), functions)
    return replace(results, where=where, order=(*results.order, *rest))


def _having(given: object, functions: Sequence[Function]) -> Any:
    if given is None:
        return ()
    try:
        if not isinstance(given, dict):
            raise InvalidFilter("it must be an object.")
        return parse_where(given, {function.name: function.kind for function in functions})
    except InvalidFilter as error:
        raise InvalidFilter(f"having: {error.description}") from None
