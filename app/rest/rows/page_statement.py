"""The statement of a page, in an order for which PostgreSQL uses the index that has its rows.

To find the rows of an owner in the order of their ids, PostgreSQL may read the table by its ids and
leave out the rows of others: it expects that the owner has rows everywhere. If they are the latest
ones, it reads the whole table. Only the index of the owner and the id has the order by both.
"""

from collections.abc import Sequence
from operator import eq
from typing import Any, TypeGuard

from sqlalchemy import (
    BinaryExpression,
    BindParameter,
    Integer,
    Table,
    UnaryExpression,
    bindparam,
)
from sqlalchemy.sql.operators import desc_op

from app.database.columns import AnyColumn
from app.database.dialects import CodePoints, OnlyItem

from .values import Condition, Element, Statement

# Created once; a number would become a parameter of each query.
LIMIT = bindparam("limit_", type_=Integer)


def page_statement(
    query: Statement, conditions: Sequence[Condition], order: Sequence[Element]
) -> Statement:
    """Return the statement for those rows of a query that meet conditions, in an order."""
    first, is_descending = _first_of(order)
    for column in _indexed_before(first):
        if any(_equals(each, column) for each in conditions):
            conditions = [
                column == OnlyItem(each.right) if _equals(each, column) else each
                for each in conditions
            ]
            order = [column.desc() if is_descending else column.asc(), *order]
            break
    return query.where(*conditions).order_by(*order).limit(LIMIT)


def _first_of(order: Sequence[Element]) -> tuple[Element, bool]:
    """Return what an order begins with, and whether it is descending."""
    first, is_descending = order[0], False
    while isinstance(first, UnaryExpression):
        is_descending = is_descending or first.modifier is desc_op
        first = first.element
    if isinstance(first, CodePoints):
        [first] = first.clauses
    return first, is_descending


def _indexed_before(first: Element) -> list[AnyColumn]:
    """Return the columns that have an index in which this one follows them."""
    table = getattr(first, "table", None)
    indexes = table.indexes if isinstance(table, Table) else ()
    pairs = [[*index.columns][:2] for index in indexes]
    return [pair[0] for pair in pairs if len(pair) == 2 and pair[1] is first]


def _equals(condition: Condition, column: AnyColumn) -> TypeGuard[BinaryExpression[Any]]:
    return (
        isinstance(condition, BinaryExpression)
        and condition.operator is eq
        and condition.left is column
        and isinstance(condition.right, BindParameter)
    )
