"""Turn rows into JSON objects: the properties that were asked for, and included relations."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import func, select

from app.access.policy import authorize
from app.extensions import db

from .filters import Filter
from .includes import Include, parse_includes
from .pages import Budget, Page, text_size
from .resource import Resource

Object = dict[str, Any]


def respond_page(resource: Resource, page: Page, filter_: Filter) -> ResponseReturnValue:
    """Answer with a list, and with a link to the next one when rows are left."""
    response = jsonify(serialize(resource, page.rows, filter_))
    if page.more:
        following = filter_.next_page(len(page.rows))
        query = urlencode({"filter": json.dumps(following, separators=(",", ":"))})
        # Relative, so that it holds behind any proxy; only the filter, so that no token gets in.
        path = f"{request.script_root}{request.path}"
        response.headers["Link"] = f'<{path}?{query}>; rel="next"'
    return response


def respond_rows(resource: Resource, rows: Sequence[Any]) -> ResponseReturnValue:
    """Answer with these rows, whole."""
    return jsonify(serialize(resource, rows))


def respond_row(resource: Resource, row: Any, filter_: Filter | None = None) -> ResponseReturnValue:
    """Answer with one row, as a filter wants to see it."""
    return jsonify(serialize(resource, [row], filter_)[0])


def serialize(
    resource: Resource, rows: Sequence[Any], filter_: Filter | None = None
) -> list[Object]:
    """Return the rows as a filter wants to see them; raise InvalidFilter for bad includes."""
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
        objects = [_keep(each, filter_.fields) for each in objects]
    for include in includes:
        add = _add_many if include.relation.many else _add_one
        add(include, rows, objects, budget)
    return objects


def _keep(whole: Object, fields: set[str]) -> Object:
    return {name: value for name, value in whole.items() if name in fields}


def _add_many(include: Include, rows: Sequence[Any], objects: list[Object], budget: Budget) -> None:
    """Put lists of related objects into the objects, as far as the caller may read them."""
    found = _to_many(include, [row.id for row in rows], budget)
    for row, each in zip(rows, objects, strict=True):
        each[include.name] = found.get(row.id, [])


def _add_one(include: Include, rows: Sequence[Any], objects: list[Object], budget: Budget) -> None:
    """Put one related object into each of the objects, as far as the caller may read it."""
    ids = [getattr(row, include.relation.foreign_key) for row in rows]
    ones = _to_one(include, set(ids), budget)
    for id, times in Counter(ids).items():
        if id in ones:
            budget.spend(include.place, *_weigh(ones[id]), times=times - 1)
    for id, each in zip(ids, objects, strict=True):
        if id in ones:
            each[include.name] = ones[id]


def _weigh(whole: Object) -> tuple[int, int]:
    """Return how many objects an object is with what it includes, and their bytes of text."""
    count, text = 1, text_size(list(whole.values()))
    for value in whole.values():
        inner = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        for more, more_text in map(_weigh, inner):
            count, text = count + more, text + more_text
    return count, text


def _to_many(include: Include, ids: list[int], budget: Budget) -> dict[int, list[Object]]:
    """Return the related objects of each id, in one query; limit and skip hold for each."""
    target, filter_ = include.target, include.filter_
    parent = target.rows.column(include.relation.foreign_key)
    scope = authorize(target.name, "find").scope(target.rows.owner)
    place = func.row_number().over(partition_by=parent, order_by=filter_.order).label("place_")
    numbered = (
        select(target.rows.key.label("id_"), parent.label("parent_"), place)
        .where(parent.in_(ids), *scope, *filter_.conditions)
        .subquery()
    )
    page = numbered.c.place_.between(filter_.skip + 1, filter_.skip + filter_.limit)
    statement = (
        select(*target.rows.columns_for(filter_), numbered.c.parent_)
        .join(numbered, numbered.c.id_ == target.rows.key)
        .where(page)
        .order_by(numbered.c.place_)
        .limit(budget.objects + 1)
    )
    rows = budget.read(include.place, db.session.execute(statement))
    grouped = defaultdict(list)
    objects = _serialize(target, rows, filter_, include.inner, budget)
    for row, each in zip(rows, objects, strict=True):
        grouped[row.parent_].append(each)
    return grouped


def _to_one(include: Include, ids: set[Any], budget: Budget) -> dict[int, Object]:
    """Return the object of each id that the caller may read."""
    target, filter_ = include.target, include.filter_
    scope = authorize(target.name, "findById").scope(target.rows.owner)
    chosen = target.rows.key.in_([each for each in ids if each is not None])
    statement = (
        select(*target.rows.columns_for(filter_))
        .where(chosen, *scope, *filter_.conditions)
        .limit(budget.objects + 1)
    )
    rows = budget.read(include.place, db.session.execute(statement))
    objects = zip(rows, _serialize(target, rows, filter_, include.inner, budget), strict=True)
    return {row.id: each for row, each in objects}
