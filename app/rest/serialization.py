"""Serialize rows as JSON objects, with the properties and relations that a filter selects."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import FromClause, func, select

from app.extensions import connection
from app.ids import Id

from .filters import Filter
from .includes import Include, parse_includes
from .pages import PROPERTY_SIZE, Budget, Page, text_size
from .parameters import read_flag
from .relations import BELONGS_TO, HAS_MANY, HAS_ONE, THROUGH, Relation
from .repository import Conditions
from .resource import Resource
from .targets import Column

Object = dict[str, Any]


def respond_page(
    resource: Resource, page: Page, conditions: Conditions, filter_: Filter
) -> ResponseReturnValue:
    """Answer with a page of the rows within these conditions that a filter selects.

    `Link` leads to the next page if there are more rows; `?count=true` asks for the number of rows
    of all pages in `X-Total-Count`.
    """
    is_counted = read_flag("count")
    response = jsonify(serialize(resource, page.rows, filter_))
    if page.more:
        next_filter = filter_.next_page(len(page.rows))
        query = urlencode({"filter": json.dumps(next_filter, separators=(",", ":"))})
        # Relative, so that it holds behind any proxy; only the filter, so that no token gets in.
        url = f"{request.script_root}{request.path}"
        response.headers["Link"] = f'<{url}?{query}>; rel="next"'
    if is_counted:
        response.headers["X-Total-Count"] = str(_total(resource, conditions, filter_, page))
    return response


def _total(resource: Resource, conditions: Conditions, filter_: Filter, page: Page) -> int:
    """Return the number of rows of all pages; asks the database unless the last page tells."""
    if not page.more and (page.rows or not filter_.skip):
        return filter_.skip + len(page.rows)
    return resource.rows.count([*conditions, *filter_.conditions])


def respond_rows(resource: Resource, rows: Sequence[Any]) -> ResponseReturnValue:
    """Answer with these rows, with all of their properties."""
    return jsonify(serialize(resource, rows))


def respond_row(resource: Resource, row: Any, filter_: Filter | None = None) -> ResponseReturnValue:
    """Answer with one row, serialized as a filter says."""
    return jsonify(serialize(resource, [row], filter_)[0])


def serialize(
    resource: Resource, rows: Sequence[Any], filter_: Filter | None = None
) -> list[Object]:
    """Return the rows as JSON objects; raise InvalidFilter for bad includes."""
    if filter_ is None:
        return [resource.dump(row) for row in rows]
    includes = parse_includes(resource, filter_)
    return _serialize(resource, rows, filter_, includes, Budget())


def _serialize(
    resource: Resource,
    rows: Sequence[Any],
    filter_: Filter,
    includes: Sequence[Include],
    budget: Budget,
) -> list[Object]:
    objects = [resource.dump(row) for row in rows]
    if filter_.fields is not None:
        objects = [_select_fields(each, filter_.fields) for each in objects]
    for include in includes:
        ADD[include.relation.kind](include, rows, objects, budget)
    return objects


def _select_fields(object_: Object, fields: set[str]) -> Object:
    return {name: value for name, value in object_.items() if name in fields}


def _add_many(include: Include, rows: Sequence[Any], objects: list[Object], budget: Budget) -> None:
    """Add to each object the list of its related objects that the caller may read."""
    found = _to_many(include, [row.id for row in rows], budget)
    for row, each in zip(rows, objects, strict=True):
        each[include.name] = found.get(row.id, [])


def _add_one(include: Include, rows: Sequence[Any], objects: list[Object], budget: Budget) -> None:
    """Add to each object its one related object, if the caller may read it."""
    ids = [getattr(row, include.relation.foreign_key) for row in rows]
    related = _to_one(include, set(ids), budget)
    for id, times in Counter(ids).items():
        if id in related:
            budget.spend(include.path, *_measure(related[id], include), times=times - 1)
    for id, each in zip(ids, objects, strict=True):
        if id in related:
            each[include.name] = related[id]


def _add_first(
    include: Include, rows: Sequence[Any], objects: list[Object], budget: Budget
) -> None:
    """Add to each object its one related object, which has its id, if the caller may read it."""
    one = replace(include, filter_=replace(include.filter_, limit=1, skip=0))
    found = _to_many(one, [row.id for row in rows], budget)
    for row, each in zip(rows, objects, strict=True):
        if row.id in found:
            each[include.name] = found[row.id][0]


ADD = {
    BELONGS_TO: _add_one,
    HAS_ONE: _add_first,
    HAS_MANY: _add_many,
    THROUGH: _add_many,
}


def _measure(object_: Object, include: Include) -> tuple[int, int]:
    """Return the number of objects, counting included ones, and about their bytes in JSON."""
    names = {each.name for each in include.inner}
    own = [value for name, value in object_.items() if name not in names]
    count, size = 1, PROPERTY_SIZE * len(object_) + text_size(own)
    for each in include.inner:
        value = object_.get(each.name, [])
        for inner in value if isinstance(value, list) else [value]:
            more, more_bytes = _measure(inner, each)
            count, size = count + more, size + more_bytes
    return count, size


def _to_many(include: Include, ids: list[Id], budget: Budget) -> dict[Id, list[Object]]:
    """Return the related objects of each id, in one query; limit and skip apply to each."""
    target, filter_, relation = include.target, include.filter_, include.relation
    parent = _parent_column(relation, target)
    scope = target.scope("find")
    rank = (
        func.row_number()
        .over(partition_by=parent, order_by=target.rows.order(filter_))
        .label("rank_")
    )
    numbered = (
        select(target.rows.key.label("id_"), parent.label("parent_"), rank)
        .select_from(_with_links(relation, target))
        .where(parent.in_(ids), *scope, *filter_.conditions, *target.rows.restriction)
        .subquery()
    )
    page = numbered.c.rank_.between(filter_.skip + 1, filter_.skip + filter_.limit)
    statement = (
        select(*target.rows.columns_for(filter_), numbered.c.parent_)
        .join(numbered, numbered.c.id_ == target.rows.key)
        .where(page)
        .order_by(numbered.c.rank_)
        .limit(budget.objects + 1)
    )
    with connection() as database:
        rows = budget.read(include.path, database.execute(statement), filter_)
    grouped = defaultdict(list)
    objects = _serialize(target, rows, filter_, include.inner, budget)
    for row, each in zip(rows, objects, strict=True):
        grouped[row.parent_].append(each)
    return grouped


def _parent_column(relation: Relation, target: Resource) -> Column:
    """Return the column with the ids of the rows that related rows belong to."""
    if relation.kind == THROUGH:
        column: Column = relation.link(relation.foreign_key)
        return column
    return target.rows.column(relation.foreign_key)


def _with_links(relation: Relation, target: Resource) -> FromClause:
    """Return the table of the target, joined to that of the model between both sides, if any."""
    table: FromClause = target.rows.key.table
    if relation.kind != THROUGH:
        return table
    link = relation.link(relation.target_key)
    return table.join(link.table, link == target.rows.key)


def _to_one(include: Include, ids: set[Any], budget: Budget) -> dict[Id, Object]:
    """Return the object of each id that the caller may read."""
    target, filter_ = include.target, include.filter_
    scope = target.scope("findById")
    chosen = target.rows.key.in_([each for each in ids if each is not None])
    statement = (
        select(*target.rows.columns_for(filter_))
        .where(chosen, *scope, *filter_.conditions, *target.rows.restriction)
        .limit(budget.objects + 1)
    )
    with connection() as database:
        rows = budget.read(include.path, database.execute(statement), filter_)
    objects = zip(rows, _serialize(target, rows, filter_, include.inner, budget), strict=True)
    return {row.id: each for row, each in objects}
