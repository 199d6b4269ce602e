"""The statement of an aggregate: values of rows, which are grouped, and a choice of the results.

Both databases read the nested queries as one.
"""

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import FromClause, select

from app.database.time_units import StartOf
from app.rest.collection import Collection
from app.rest.filters import sql
from app.rest.filters.sql import Column
from app.rest.rows.values import Conditions, Element, Statement

from .parser import Aggregate, Group


def aggregate_statement(
    collection: Collection, aggregate: Aggregate, conditions: Conditions
) -> Statement:
    """Return the statement for the results of the rows that meet conditions, and one result more.

    Its columns are the groups and the functions, in their order.
    """
    grouped = _grouped(aggregate, _values(collection, aggregate, conditions))
    columns, results = result_columns(aggregate), aggregate.results
    chosen = select(*columns.values()).select_from(grouped)
    chosen = chosen.where(*sql.conditions(results.where, columns))
    page = chosen.order_by(*sql.orders(results.order, columns)).limit(results.limit + 1)
    return page.offset(results.skip) if results.skip else page


def _values(collection: Collection, aggregate: Aggregate, conditions: Conditions) -> FromClause:
    """Return the values of the rows: those of the groups, then those of the functions."""
    rows = collection.rows
    sources = [function.source for function in aggregate.functions]
    values = [
        *map(_group_value, aggregate.groups),
        *(sa.null() if source is None else source.value for source in sources),
    ]
    labelled = [value.label(f"value_{place}") for place, value in enumerate(values)]
    selected = select(*labelled).select_from(rows.key.table)
    filtered = selected.where(*conditions, *rows.conditions(aggregate.rows), *rows.restriction)
    return filtered.subquery("rows_")


def _group_value(group: Group) -> Element:
    value = group.source.value
    return StartOf(value, group.unit) if group.unit else value


def _grouped(aggregate: Aggregate, rows: FromClause) -> FromClause:
    """Return the results of all groups."""
    groups = rows.c[: len(aggregate.groups)]
    arguments = rows.c[len(groups) :]
    functions = [
        function.sql(argument)
        for function, argument in zip(aggregate.functions, arguments, strict=True)
    ]
    names = result_columns(aggregate).values()
    results = zip([*groups, *functions], names, strict=True)
    selected = select(*(result.label(column.name) for result, column in results))
    return selected.select_from(rows).group_by(*groups).subquery("groups_")


def result_columns(aggregate: Aggregate) -> Mapping[str, Column]:
    """Return the columns of the results by their names in the answer."""
    groups = {group.name: group.source.value.type for group in aggregate.groups}
    functions = {function.name: function.type for function in aggregate.functions}
    types = enumerate((groups | functions).items())
    return {name: sa.Column(f"result_{place}", type_) for place, (name, type_) in types}
