"""The statement of an aggregate: values of rows, which are grouped, and a choice of the results.

Both databases read the nested query as a part of the outer one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import FromClause, Label, select

from app.database import dialects
from app.database.time_units import StartOf
from app.rest.collection import Collection
from app.rest.filters import sql
from app.rest.filters.sql import Operands, RelatedSql
from app.rest.filters.tree import Order
from app.rest.rows.values import Conditions, Element, Statement

from .parser import Aggregate, Group


def aggregate_statement(
    collection: Collection, aggregate: Aggregate, conditions: Conditions
) -> Statement:
    """Return the statement for the results of the rows that meet conditions, and one result more.

    Its columns are the groups and the functions, in their order.
    """
    rows = _values(collection, aggregate, conditions)
    groups, arguments = rows.c[: len(aggregate.groups)], rows.c[len(aggregate.groups) :]
    pairs = zip(aggregate.functions, arguments, strict=True)
    functions = [function.sql(argument) for function, argument in pairs]
    results = dict(zip(aggregate.names, [*groups, *functions], strict=True))
    found = select(*_labelled(results.values())).select_from(rows).group_by(*groups)
    chosen = aggregate.results
    having = sql.conditions(chosen.where, results)
    if groups:
        found = found.having(*having).order_by(*(_ordered(term, results) for term in chosen.order))
    elif having:
        # SQLite before 3.39 has no HAVING without GROUP BY.
        only = found.subquery("results_")
        results = dict(zip(aggregate.names, only.c, strict=True))
        found = select(only).where(*sql.conditions(chosen.where, results))
    page = found.limit(chosen.limit + 1)
    return page.offset(chosen.skip) if chosen.skip else page


def _values(collection: Collection, aggregate: Aggregate, conditions: Conditions) -> FromClause:
    """Return the values of the rows: those of the groups, then those of the functions."""
    rows = collection.rows
    grants = rows.relations.grants(aggregate.rows)
    related = rows.relations.sql(aggregate.rows, grants)
    columns = rows.shown.elements
    sources = [function.source for function in aggregate.functions]
    values = [
        *(_group_value(group, columns, related) for group in aggregate.groups),
        *(sa.null() if source is None else source.sql(columns, related) for source in sources),
    ]
    selected = select(*_labelled(values)).select_from(rows.key.table)
    filtered = selected.where(
        *conditions, *rows.conditions(aggregate.rows, grants), *rows.restriction
    )
    return filtered.subquery("rows_")


def _group_value(group: Group, columns: Operands, related: RelatedSql) -> Element:
    value = group.source.sql(columns, related)
    return StartOf(value, group.unit) if group.unit else value


def _labelled(values: Iterable[Element]) -> list[Label[Any]]:
    return [value.label(f"value_{place}") for place, value in enumerate(values)]


def _ordered(term: Order, results: Mapping[str, Element]) -> Element:
    value = sql.by_code_point(results[term.place.property])
    return dialects.directed(value, term.descending, is_nullable=True)
