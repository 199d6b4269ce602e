"""The statements that read the rows of an include."""

from typing import Any

from sqlalchemy import FromClause, Select, func, select

from app.database.dialects import Among
from app.rest.collection import Collection
from app.rest.filters.sql import Column
from app.rest.filters.tree import Filter
from app.rest.relations import THROUGH, Relation
from app.rest.rows.repository import LIMIT, Conditions

# The parameter with the ids of the rows, or of those that they belong to.
IDS = "ids"


def select_by_id(target: Collection, filter_: Filter, conditions: Conditions) -> Select[Any]:
    """Return the statement for rows with some ids, in the order of the filter if it has one."""
    return (
        select(*target.rows.columns_for(filter_))
        .where(
            Among(target.rows.key, IDS),
            *conditions,
            *target.rows.conditions(filter_),
            *target.rows.restriction,
        )
        .order_by(*(target.rows.order(filter_) if filter_.order else ()))
        .limit(LIMIT)
    )


def select_of_parents(
    target: Collection, relation: Relation, filter_: Filter, conditions: Conditions
) -> Select[Any]:
    """Return the statement for the rows of some parents; limit and skip apply to each parent.

    Each row has the id of its parent as `parent_`, and its place among those of the parent.
    """
    table, parent = _with_links(relation, target)
    rank = func.row_number().over(partition_by=parent, order_by=target.rows.order(filter_))
    numbered = (
        select(target.rows.key.label("id_"), parent.label("parent_"), rank.label("rank_"))
        .select_from(table)
        .where(
            Among(parent, IDS),
            *conditions,
            *target.rows.conditions(filter_),
            *target.rows.restriction,
        )
        .subquery()
    )
    page = numbered.c.rank_.between(filter_.skip + 1, filter_.skip + filter_.limit)
    return (
        select(*target.rows.columns_for(filter_), numbered.c.parent_, numbered.c.rank_)
        .join(numbered, numbered.c.id_ == target.rows.key)
        .where(page)
        .limit(LIMIT)
    )


def _with_links(relation: Relation, target: Collection) -> tuple[FromClause, Column]:
    """Return the table of the target, and the column with the ids of what its rows belong to.

    The model between both sides is joined to it, if there is one.
    """
    table: FromClause = target.rows.key.table
    if relation.kind != THROUGH:
        return table, target.rows.column(relation.foreign_key)
    # The model between both may be the target itself.
    links = relation.links.alias()
    parent, key = (
        links.corresponding_column(relation.link(name))
        for name in (relation.foreign_key, relation.target_key)
    )
    return table.join(links, key == target.rows.key), parent
