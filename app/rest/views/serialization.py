"""Serializing rows as JSON objects, with the properties and relations that a filter selects."""

import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from app.ids import Id
from app.rest.collection import Collection
from app.rest.filters.tree import Filter
from app.rest.relations import (
    BELONGS_TO,
    EMBEDS_MANY,
    EMBEDS_ONE,
    HAS_MANY,
    HAS_ONE,
    REFERENCES_MANY,
    THROUGH,
)
from app.rest.rows.pages import JSON_COST, Budget
from app.rest.rows.values import IDS, Row, Values

from .includes import Include, parse_includes

Includes = Sequence[Include]


def serialize(
    collection: Collection,
    rows: Sequence[Row],
    filter_: Filter,
    includes: Includes | None = None,
) -> list[Values]:
    """Return the rows as JSON objects, as a filter selects; raise InvalidFilter."""
    if includes is None:
        includes = parse_includes(collection, filter_)
    found = Found(rows, [1] * len(rows))
    return _serialize(collection, found, filter_, includes, Budget())


class Found(NamedTuple):
    """Rows of one level, and how often the object of each occurs in the response.

    A row to which several others lead occurs several times, with everything included into it.
    """

    rows: Sequence[Row]
    times: Sequence[int]

    def by(self, column: str) -> "Found":
        """Return the rows in the order of a column."""
        pairs = sorted(zip(*self, strict=True), key=lambda pair: getattr(pair[0], column))
        return Found([row for row, _ in pairs], [times for _, times in pairs])

    def times_by(self, keys: Sequence[Id]) -> Counter[Id]:
        """Return how often the objects of the rows with each key occur in the response."""
        counter: Counter[Id] = Counter()
        for key, times in zip(keys, self.times, strict=True):
            counter[key] += times
        return counter


def _serialize(
    collection: Collection,
    found: Found,
    filter_: Filter,
    includes: Sequence[Include],
    budget: Budget,
) -> list[Values]:
    objects = list(map(collection.serializer.dump, found.rows))
    if filter_.fields is not None:
        objects = [select_fields(object_, filter_.fields) for object_ in objects]
    for name in filter_.withheld:
        for object_ in objects:
            object_.pop(name, None)
    for include in includes:
        values = VALUES[include.relation.kind](include, found, budget)
        for object_, value in zip(objects, values, strict=True):
            if value is not None:
                object_[include.name] = value
    return objects


def select_fields(object_: Values, fields: Container[str]) -> Values:
    """Return the object of a row with some of its properties."""
    return {name: value for name, value in object_.items() if name in fields}


def _many(include: Include, found: Found, budget: Budget) -> list[list[Values]]:
    """Return for each row the list of its related objects that the caller may read."""
    ids = include.ids_of_parents(found.rows)
    related = _to_many(include, found.times_by(ids), budget)
    return [related.get(id, []) for id in ids]


def _one(include: Include, found: Found, budget: Budget) -> Sequence[object]:
    """Return for each row its one related object, if the caller may read it."""
    if include.by_resource:
        return _one_of_any(include, found, budget)
    ids = include.values(found.rows)
    related = _by_id(include, found.times_by(ids), budget)
    return [related.get(id) for id in ids]


def _one_of_any(include: Include, found: Found, budget: Budget) -> Sequence[object]:
    """Return for each row its one related object, of one of several resources.

    One of a resource that the caller may not read is treated as missing.
    """
    references = list(include.references(found.rows))
    times = defaultdict[str, Counter[Id]](Counter)
    for (resource, id), count in zip(references, found.times, strict=True):
        if id is not None:
            times[resource][id] += count
    related: dict[tuple[str, Id | None], Values] = {}
    for resource, ids in times.items():
        objects = _by_id(include.by_resource[resource], ids, budget)
        related |= {(resource, id): object_ for id, object_ in objects.items()}
    return [related.get(reference) for reference in references]


def _first(include: Include, found: Found, budget: Budget) -> Sequence[object]:
    """Return for each row the related object with the same id, if the caller may read it."""
    return [objects[0] if objects else None for objects in _many(include, found, budget)]


def _referenced(include: Include, found: Found, budget: Budget) -> Sequence[object]:
    """Return for each row the list of objects whose ids it has, if the caller may read them.

    In the order of the ids, unless the filter has one; limit and skip apply to each list.
    """
    filter_ = include.filter_
    lists = _referenced_ids(include, found, budget)
    times = Counter[Id]()
    for ids, count in zip(lists, found.times, strict=True):
        times.update(dict.fromkeys(ids, count))
    related = _by_id(include, times, budget)
    place = {id: number for number, id in enumerate(related)}
    page = slice(filter_.skip, filter_.skip + filter_.limit)

    def objects(ids: Iterable[Id]) -> list[Values]:
        known = [id for id in ids if id in related]
        ordered = sorted(known, key=place.__getitem__) if filter_.order else known
        return [related[id] for id in ordered[page]]

    return list(map(objects, lists))


def _referenced_ids(include: Include, found: Found, budget: Budget) -> list[list[Id]]:
    """Return the ids in each row, without duplicates; raise an error for too many."""
    given = [value or [] for value in include.values(found.rows)]
    counts = zip(given, found.times, strict=True)
    budget.check_count(include.path, sum(len(ids) * times for ids, times in counts))
    parse = include.target.id_form.parse
    parsed = (map(parse, map(str, ids)) for ids in given)
    return [list(dict.fromkeys(id for id in ids if id is not None)) for ids in parsed]


def _embedded(include: Include, found: Found, budget: Budget) -> Sequence[object]:
    """Return the value of each row's property: an array, or an object if there is one."""
    usual: list[object] | None = [] if include.relation.many else None
    embedded = [usual if value is None else value for value in include.values(found.rows)]
    for value, times in zip(embedded, found.times, strict=True):
        if value is not None:
            budget.spend(include.path, JSON_COST * len(json.dumps(value)), times)
    visibility = include.visibility
    return embedded if visibility is None else list(map(visibility.show, embedded))


# Each returns the values to add to each row's object; None adds nothing.
VALUES = {
    BELONGS_TO: _one,
    HAS_ONE: _first,
    HAS_MANY: _many,
    THROUGH: _many,
    REFERENCES_MANY: _referenced,
    EMBEDS_ONE: _embedded,
    EMBEDS_MANY: _embedded,
}


def _to_many(include: Include, parents: Counter[Id], budget: Budget) -> dict[Id, list[Values]]:
    """Return the related objects of each parent, in one query; limit and skip apply to each.

    `parents` maps ids to how often the object of each occurs in the response.
    """
    # SQLite would sort complete rows, including those beyond the limit.
    found = _read(include, parents, "parent_", budget).by("rank_")
    grouped = defaultdict(list)
    objects = _serialize(include.target, found, include.filter_, include.inner, budget)
    for row, object_ in zip(found.rows, objects, strict=True):
        grouped[row.parent_].append(object_)
    return grouped


def _by_id(include: Include, ids: Counter[Id], budget: Budget) -> dict[Id, Values]:
    """Return objects by id that the caller may read, in the filter's order.

    `ids` has how often each of them occurs in the response.
    """
    found = _read(include, ids, "id", budget)
    objects = _serialize(include.target, found, include.filter_, include.inner, budget)
    return {row.id: object_ for row, object_ in zip(found.rows, objects, strict=True)}


def _read(include: Include, ids: Counter[Id], name: str, budget: Budget) -> Found:
    """Read the rows of an include that the caller may read.

    The value with this name says how often each occurs in the response: as often as its id.
    """
    values = {IDS: [id for id in ids if id is not None], "limit_": budget.objects + 1}
    grant, rows, filter_ = include.grant(), include.target.rows, include.filter_
    related = rows.relations.grants(filter_)
    if grant is None:
        return Found([], [])
    budget.query(include.path)
    most = min(budget.objects + 1, len(ids) * include.most)
    found = include.statement.read(
        grant,
        values,
        rows.shown.characters(filter_, most),
        partial(budget.read, include.path, include.row_size, ids, name),
        related,
    )
    return Found(found, [ids[getattr(row, name)] for row in found])
