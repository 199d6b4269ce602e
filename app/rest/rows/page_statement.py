"""The statement of a page, made so that the databases use the index that has its rows.

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
    Column,
    Integer,
    Table,
    UnaryExpression,
    bindparam,
    or_,
    select,
    union_all,
)
from sqlalchemy.sql.operators import desc_op
from sqlalchemy.sql.visitors import replacement_traverse

from app.database.columns import AnyColumn
from app.database.dialects import CodePoints, OnlyItem

from .values import Condition, Element, Statement

# Created once; a number would become a parameter of each query.
LIMIT = bindparam("limit_", type_=Integer)


def page_statement(
    query: Statement,
    conditions: Sequence[Condition],
    order: Sequence[Element],
    parts: Sequence[Condition] = (),
) -> Statement:
    """Return the statement for those rows of a query that meet conditions, in an order.

    And one of the conditions `parts`, if there are any: the rows that meet one of them come before
    those that meet the next.
    """
    first, is_descending = _first_of(order)
    table = getattr(first, "table", None)
    indexes = [[*index.columns] for index in table.indexes] if isinstance(table, Table) else []
    before = [columns[0] for columns in indexes if columns[1:] and columns[1] is first]
    leading = [column for column in before if any(_equals(each, column) for each in conditions)]
    chosen, ordered = list(conditions), list(order)
    if leading:
        column = leading[0]
        chosen = [
            column == OnlyItem(each.right) if _equals(each, column) else each for each in chosen
        ]
        ordered.insert(0, column.desc() if is_descending else column.asc())
    # SQLite finds the first rows of each part by the index, and those of either by reading all.
    if len(parts) > 1 and (leading or any(columns[0] is first for columns in indexes)):
        return _union([_page(query, [*chosen, part], ordered) for part in parts], order)
    return _page(query, [*chosen, or_(*parts)] if parts else chosen, ordered)


def _page(query: Statement, conditions: Sequence[Condition], order: Sequence[Element]) -> Statement:
    return query.where(*conditions).order_by(*order).limit(LIMIT)


def _union(pages: Sequence[Statement], order: Sequence[Element]) -> Statement:
    """Return the statement for the first rows of several pages, by columns that they select."""
    rows = union_all(*(page.subquery().select() for page in pages)).subquery()

    def of_rows(element: Any, **_: object) -> Element | None:
        return rows.corresponding_column(element) if isinstance(element, Column) else None

    return _page(select(*rows.c), (), [replacement_traverse(each, {}, of_rows) for each in order])


def _first_of(order: Sequence[Element]) -> tuple[Element, bool]:
    """Return what an order begins with, and whether it is descending."""
    first, is_descending = order[0], False
    while isinstance(first, UnaryExpression):
        is_descending = is_descending or first.modifier is desc_op
        first = first.element
    if isinstance(first, CodePoints):
        [first] = first.clauses
    return first, is_descending


def _equals(condition: Condition, column: AnyColumn) -> TypeGuard[BinaryExpression[Any]]:
    return (
        isinstance(condition, BinaryExpression)
        and condition.operator is eq
        and condition.left is column
        and isinstance(condition.right, BindParameter)
    )
