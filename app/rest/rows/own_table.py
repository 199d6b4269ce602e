"""Conditions that read other rows of the same table, so that writing a row may satisfy them.

For example, members of a room may be those in the table of members, and members may write rows of
that table. A new member of another room would satisfy the condition as soon as its row exists. Such
conditions must hold for the new row while the table is still unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Column, ColumnElement, Join, Select, Table
from sqlalchemy.sql.selectable import AliasedReturnsRows
from sqlalchemy.sql.visitors import ExternallyTraversible, iterate, replacement_traverse

from app.rest.rows.values import Element, Statement


class OwnTableCondition:
    """A condition on rows of a table, which may read other rows of it."""

    def __init__(self, condition: ColumnElement[bool], table: Table) -> None:
        self._condition, self._table = condition, table
        # A subquery has rows of its own: its columns do not refer to the row in question.
        self._apart = [part for part in iterate(condition) if self._is_apart(part)]
        # Whether it reads other rows of the table.
        self.reads_others = any(
            _is(part, self._table) for apart in self._apart for part in iterate(apart)
        )

    def with_values(self, values: Mapping[str, Element]) -> ColumnElement[bool]:
        """Return the condition with these values, by column name, in place of the row's columns."""
        return self._replace(values.get)

    @cached_property
    def columns(self) -> set[str]:
        """The names of the row's columns that it depends on."""
        found = set[str]()
        self._replace(found.add)
        return found

    def _replace(self, by: Callable[[str], object]) -> ColumnElement[bool]:
        def replace(element: ExternallyTraversible, **_options: object) -> object:
            if isinstance(element, Column) and _is(element.table, self._table):
                return by(element.name)
            return None

        replaced: Any = replacement_traverse(self._condition, {"stop_on": self._apart}, replace)
        return replaced  # type: ignore[no-any-return]

    def _is_apart(self, element: ExternallyTraversible) -> bool:
        if isinstance(element, Select):
            return self._selects(element)
        return isinstance(element, AliasedReturnsRows)

    def _selects(self, select: Statement) -> bool:
        """Return True if a subquery selects from the table without being correlated."""
        sources: Sequence[object] = select.get_final_froms()
        if any(isinstance(source, Join) and self._joins(source) for source in sources):
            return True
        if not any(_is(source, self._table) for source in sources):
            return False
        if select._auto_correlate:
            return len(sources) == 1
        excepted = select._correlate_except
        if excepted is not None:
            return any(_is(source, self._table) for source in excepted)
        return not any(_is(source, self._table) for source in select._correlate)

    def _joins(self, join: Join) -> bool:
        return any(
            self._joins(side) if isinstance(side, Join) else _is(side, self._table)
            for side in (join.left, join.right)
        )


def _is(element: object, table: Table) -> bool:
    """Return True for the table, also if annotated by the ORM."""
    return isinstance(element, Table) and element.key == table.key
