"""Conditions on rows that read other rows of the same table, of which a write may make one true.

Who is a member of a room may be what the table of members says, and the rows of that table may be
what a member may write. A new member of another room would then be within the condition, as the
table says so once the row is there. Such conditions must hold for a row as it is to be while the
table is as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Column, ColumnElement, Join, Select, Table
from sqlalchemy.sql.selectable import AliasedReturnsRows
from sqlalchemy.sql.visitors import ExternallyTraversible, iterate, replacement_traverse


class OwnTableCondition:
    """A condition on the rows of a table, which may read others of them."""

    def __init__(self, condition: ColumnElement[bool], table: Table) -> None:
        self._condition, self._table = condition, table
        # What has rows of its own: the columns in it are not those of the row in question.
        self._apart = [part for part in iterate(condition) if self._is_apart(part)]
        # Whether it reads other rows of the table.
        self.reads_others = any(
            _is(part, self._table) for apart in self._apart for part in iterate(apart)
        )

    def with_values(self, values: Mapping[str, ColumnElement[Any]]) -> ColumnElement[bool]:
        """Return the condition with values in place of columns, by name, of the row in question."""
        return self._replace(values.get)

    @cached_property
    def columns(self) -> set[str]:
        """The names of the columns of the row in question that it depends on."""
        found = set[str]()
        self._replace(found.add)
        return found

    def _replace(self, by: Callable[[str], Any]) -> ColumnElement[bool]:
        def replace(element: ExternallyTraversible, **_options: Any) -> Any:
            if isinstance(element, Column) and _is(element.table, self._table):
                return by(element.name)
            return None

        replaced: Any = replacement_traverse(self._condition, {"stop_on": self._apart}, replace)
        return replaced  # type: ignore[no-any-return]

    def _is_apart(self, element: ExternallyTraversible) -> bool:
        if isinstance(element, Select):
            return self._selects(element)
        return isinstance(element, AliasedReturnsRows)

    def _selects(self, select: Select[Any]) -> bool:
        """Return True if a subquery selects from the table, and is not correlated by it."""
        sources: Sequence[Any] = select.get_final_froms()
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
    """Return True for a table, also as the ORM annotates it."""
    return isinstance(element, Table) and element.key == table.key
