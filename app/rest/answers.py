"""Turn rows into JSON objects: the properties that were asked for, and included relations."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import func, select

from app.access.policy import authorize
from app.errors import InvalidFilter
from app.extensions import db

from .filters import Filter
from .resource import Relation, Resource, resource_named

Object = dict[str, Any]


def answer_page(resource: Resource, rows: Sequence[Any], wanted: Filter) -> ResponseReturnValue:
    """Answer with a list, and with a link to the next one when rows are left."""
    response = jsonify(render(resource, rows[: wanted.limit], wanted))
    if len(rows) > wanted.limit:
        query = urlencode({"filter": json.dumps(wanted.next_page(), separators=(",", ":"))})
        # Relative, so that it holds behind any proxy; only the filter, so that no token gets in.
        path = f"{request.script_root}{request.path}"
        response.headers["Link"] = f'<{path}?{query}>; rel="next"'
    return response


def render(resource: Resource, rows: Sequence[Any], wanted: Filter | None = None) -> list[Object]:
    """Return the rows as a filter wants to see them."""
    objects = [resource.dump(row) for row in rows]
    if wanted is None:
        return objects
    if wanted.fields is not None:
        objects = [_keep(each, wanted.fields) for each in objects]
    for name, scope in wanted.include.items():
        _include(resource, name, scope, rows, objects)
    return objects


def _keep(whole: Object, fields: set[str]) -> Object:
    return {name: value for name, value in whole.items() if name in fields}


def _include(
    resource: Resource,
    name: str,
    scope: Mapping[str, Any],
    rows: Sequence[Any],
    objects: list[Object],
) -> None:
    """Put a relation's rows into the objects, as far as the caller may read the target."""
    relation = resource.relations.get(name)
    if relation is None:
        known = ", ".join(resource.relations) or "none"
        raise InvalidFilter(f"There is no relation {name!r}; there are {known}.")
    target = resource_named(relation.target)
    wanted = target.parse(scope)
    if relation.many:
        found = _many(target, relation, wanted, [row.id for row in rows])
        for row, each in zip(rows, objects, strict=True):
            each[name] = found.get(row.id, [])
    else:
        ones = _ones(target, wanted, {getattr(row, relation.foreign_key) for row in rows})
        for row, each in zip(rows, objects, strict=True):
            if one := ones.get(getattr(row, relation.foreign_key)):
                each[name] = one


def _many(
    target: Resource, relation: Relation, wanted: Filter, ids: list[int]
) -> dict[int, list[Object]]:
    """Return the related objects of each id, in one query; limit and skip hold for each."""
    parent = target.all_columns[relation.foreign_key]
    scope = authorize(target.name, "find").scope(target.owner_column)
    place = func.row_number().over(partition_by=parent, order_by=wanted.order).label("place_")
    numbered = (
        select(*target.columns, parent.label("parent_"), place)
        .where(parent.in_(ids), *scope, *wanted.conditions)
        .subquery()
    )
    page = numbered.c.place_.between(wanted.skip + 1, wanted.skip + wanted.limit)
    rows = db.session.execute(select(numbered).where(page).order_by(numbered.c.place_)).all()
    grouped = defaultdict(list)
    for row, each in zip(rows, render(target, rows, wanted), strict=True):
        grouped[row.parent_].append(each)
    return grouped


def _ones(target: Resource, wanted: Filter, ids: set[Any]) -> dict[int, Object]:
    """Return the object of each id that the caller may read."""
    scope = authorize(target.name, "findById").scope(target.owner_column)
    chosen = target.key.in_([each for each in ids if each is not None])
    statement = select(*target.columns).where(chosen, *scope, *wanted.conditions)
    rows = db.session.execute(statement).all()
    objects = zip(rows, render(target, rows, wanted), strict=True)
    return {row.id: each for row, each in objects}
