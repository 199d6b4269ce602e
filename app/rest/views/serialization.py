"""Serialize rows as JSON objects, with the properties and relations that a filter selects."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from app.access.policy import authorize
from app.errors import InvalidFilter
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
from app.rest.routing import requested_path
from app.rest.rows.pages import JSON_COST, Budget, Page
from app.rest.rows.repository import Conditions, Row

from .includes import IDS, Include, parse_includes

Object = dict[str, Any]
Includes = Sequence[Include]

#: Characters of the URL of a next page.
# A longer one would not be taken as a request line (MAX_LINE in app/server/incoming.py). The nginx
# of docs/deployment.md has room for it in an answer's head.
MAX_URL = 16_000


def respond_page(
    collection: Collection,
    page: Page,
    scope: Callable[[], Conditions],
    filter_: Filter,
    includes: Includes | None = None,
) -> ResponseReturnValue:
    """Answer with a page of the rows within a scope that a filter selects.

    `includes` are those of the filter, if they are parsed already.
    `Link` leads to the next page if there are more rows; `?count=true` asks for the number of rows
    of all pages in `X-Total-Count`.
    """
    is_counted = _is_counted()
    response = jsonify(serialize(collection, page.rows, filter_, includes))
    if page.more and (url := _next_url(page, filter_)):
        response.headers["Link"] = f'<{url}>; rel="next"'
    if is_counted:
        response.headers["X-Total-Count"] = str(_total(collection, scope, filter_, page))
    return response


def _is_counted() -> bool:
    """Tell whether the parameter `count` is `true`; raise InvalidFilter unless that or `false`."""
    values = request.args.getlist("count")
    if values not in ([], ["true"], ["false"]):
        raise InvalidFilter("count must be true or false.")
    return values == ["true"]


def _next_url(page: Page, filter_: Filter) -> str | None:
    """Return the URL of the next page; None if it is too long and the filter has a limit.

    By its limit a client sees that there is another page. Raises InvalidFilter if it has none.
    """
    rest = {name: value for name, value in filter_.raw.items() if name != "offset"}
    next_filter = {**rest, "skip": filter_.skip + len(page.rows)}
    query = urlencode({"filter": json.dumps(next_filter, separators=(",", ":"))})
    # Relative, so that it holds behind any proxy; only the filter, so that no token gets in.
    url = f"{request.script_root}{requested_path()}?{query}"
    if len(url) <= MAX_URL:
        return url
    if filter_.has_limit:
        return None
    raise InvalidFilter(
        "There are more rows, and the filter is too long for a link to them; set a limit."
    )


def _total(
    collection: Collection, scope: Callable[[], Conditions], filter_: Filter, page: Page
) -> int:
    """Return the number of rows of all pages; asks the database unless the last page tells."""
    if not page.more and (page.rows or not filter_.skip):
        return filter_.skip + len(page.rows)
    return collection.rows.count(scope(), filter_)


def respond_rows(collection: Collection, rows: Sequence[Any]) -> ResponseReturnValue:
    """Answer with these rows, with all of their properties."""
    return jsonify(serialize(collection, rows))


def respond_row(
    collection: Collection,
    row: Row,
    filter_: Filter | None = None,
    includes: Includes | None = None,
) -> ResponseReturnValue:
    """Answer with one row, serialized as a filter says."""
    return jsonify(serialize(collection, [row], filter_, includes)[0])


def serialize(
    collection: Collection,
    rows: Sequence[Any],
    filter_: Filter | None = None,
    includes: Includes | None = None,
) -> list[Object]:
    """Return the rows as JSON objects; raise InvalidFilter for bad includes."""
    if filter_ is None:
        return list(map(collection.serializer.dump, rows))
    if includes is None:
        includes = parse_includes(collection, filter_)
    found = Found(rows, [1] * len(rows))
    return _serialize(collection, found, filter_, includes, Budget())


class Found(NamedTuple):
    """Rows of one level, and how often the object of each is in the response.

    Rows that several others lead to are in it several times, with everything included into them.
    """

    rows: Sequence[Any]
    times: Sequence[int]

    def by(self, column: str) -> "Found":
        """Return the rows in the order of a column."""
        pairs = sorted(zip(*self, strict=True), key=lambda pair: getattr(pair[0], column))
        return Found([row for row, _ in pairs], [times for _, times in pairs])

    def times_by(self, keys: Sequence[Any]) -> Counter[Any]:
        """Return how often the objects of the rows with each key are in the response."""
        counter: Counter[Any] = Counter()
        for key, times in zip(keys, self.times, strict=True):
            counter[key] += times
        return counter


def _serialize(
    collection: Collection,
    found: Found,
    filter_: Filter,
    includes: Sequence[Include],
    budget: Budget,
) -> list[Object]:
    objects = list(map(collection.serializer.dump, found.rows))
    if filter_.fields is not None:
        objects = [_select_fields(each, filter_.fields) for each in objects]
    for include in includes:
        ADD[include.relation.kind](include, found, objects, budget)
    return objects


def _select_fields(object_: Object, fields: frozenset[str]) -> Object:
    return {name: value for name, value in object_.items() if name in fields}


def _add_many(include: Include, found: Found, objects: list[Object], budget: Budget) -> None:
    """Add to each object the list of its related objects that the caller may read."""
    ids = [row.id for row in found.rows]
    related = _to_many(include, found.times_by(ids), budget)
    for id, each in zip(ids, objects, strict=True):
        each[include.name] = related.get(id, [])


def _add_one(include: Include, found: Found, objects: list[Object], budget: Budget) -> None:
    """Add to each object its one related object, if the caller may read it."""
    ids = include.values(found.rows)
    related = _by_id(include, found.times_by(ids), "findById", budget)
    for id, each in zip(ids, objects, strict=True):
        if id in related:
            each[include.name] = related[id]


def _add_first(include: Include, found: Found, objects: list[Object], budget: Budget) -> None:
    """Add to each object its one related object, which has its id, if the caller may read it."""
    ids = [row.id for row in found.rows]
    related = _to_many(include, found.times_by(ids), budget)
    for id, each in zip(ids, objects, strict=True):
        if id in related:
            each[include.name] = related[id][0]


def _add_referenced(include: Include, found: Found, objects: list[Object], budget: Budget) -> None:
    """Add to each object the list of the objects whose ids it has and that the caller may read.

    They are in the order of the ids, unless the filter has one; limit and skip apply to each list.
    """
    parse, filter_ = include.target.id_form.parse, include.filter_
    given = [value or [] for value in include.values(found.rows)]
    counts = zip(given, found.times, strict=True)
    budget.check_count(include.path, sum(len(ids) * times for ids, times in counts))
    lists = [list(dict.fromkeys(map(parse, map(str, ids)))) for ids in given]
    times = Counter[Any]()
    for ids, count in zip(lists, found.times, strict=True):
        times.update(dict.fromkeys(ids, count))
    related = _by_id(include, times, "find", budget)
    place = {id: number for number, id in enumerate(related)}
    for ids, each in zip(lists, objects, strict=True):
        known = [id for id in ids if id in related]
        if filter_.order:
            known.sort(key=lambda id: place[id])
        page = known[filter_.skip : filter_.skip + filter_.limit]
        each[include.name] = [related[id] for id in page]


def _add_embedded(include: Include, found: Found, objects: list[Object], budget: Budget) -> None:
    """Add to each object what its property holds: an array, or an object if there is one."""
    usual: Any = [] if include.relation.many else None
    for value, times, each in zip(include.values(found.rows), found.times, objects, strict=True):
        if (embedded := usual if value is None else value) is not None:
            budget.spend(include.path, JSON_COST * len(json.dumps(embedded)), times)
            each[include.name] = embedded


ADD = {
    BELONGS_TO: _add_one,
    HAS_ONE: _add_first,
    HAS_MANY: _add_many,
    THROUGH: _add_many,
    REFERENCES_MANY: _add_referenced,
    EMBEDS_ONE: _add_embedded,
    EMBEDS_MANY: _add_embedded,
}


def _to_many(include: Include, parents: Counter[Id], budget: Budget) -> dict[Id, list[Object]]:
    """Return the related objects of each parent, in one query; limit and skip apply to each.

    `parents` are the ids, and how often the object of each is in the response.
    """
    # SQLite would sort the rows with all that is in them, too many rows included.
    found = _read(include, parents, "find", "parent_", budget).by("rank_")
    grouped = defaultdict(list)
    objects = _serialize(include.target, found, include.filter_, include.inner, budget)
    for row, each in zip(found.rows, objects, strict=True):
        grouped[row.parent_].append(each)
    return grouped


def _by_id(include: Include, ids: Counter[Any], method: str, budget: Budget) -> dict[Id, Object]:
    """Return the object of each id on which the caller may call a method, in the filter's order.

    `ids` has how often each of them is in the response.
    """
    found = _read(include, ids, method, "id", budget)
    objects = _serialize(include.target, found, include.filter_, include.inner, budget)
    return {row.id: each for row, each in zip(found.rows, objects, strict=True)}


def _read(include: Include, ids: Counter[Any], method: str, name: str, budget: Budget) -> Found:
    """Read the rows of an include on which the caller may call a method.

    The value with this name says how often each is in the response: as often as its id.
    """

    def times(row: Any) -> int:
        return ids[getattr(row, name)]

    table, filter_, most = include.target.rows, include.filter_, budget.objects + 1
    size = table.row_size(filter_)
    values = {IDS: [each for each in ids if each is not None], "limit_": most}
    rows = include.statement.read(
        authorize(include.target.name, method),
        values,
        table.characters(filter_, min(most, len(ids) * include.most)),
        lambda found: budget.read(include.path, found, size, times),
    )
    return Found(rows, list(map(times, rows)))
