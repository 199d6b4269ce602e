"""Scopes of writes: rows that a caller may change, their required state afterwards, and checks.

Conditions may read other rows of the same table, so that writing a row may satisfy them. For
example, members of a room may be those in the table of members, and members may write rows of that
table. A new member of another room would satisfy the condition as soon as its row exists. Such
conditions must hold for the new row while the table is still unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Join,
    Select,
    Table,
    and_,
    false,
    func,
    inspect,
    literal,
    not_,
    null,
    select,
)
from sqlalchemy.sql.selectable import AliasedReturnsRows
from sqlalchemy.sql.visitors import ExternallyTraversible, iterate, replacement_traverse

from app.access.policy import Grant, denial_of_result
from app.database.columns import AnyColumn
from app.database.dialects import Among
from app.database.session import connection
from app.ids import Id

from .repository import Repository
from .values import IDS, Condition, Conditions, Element, NewRow, Statement, Values

#: Maximum rows that one request changes by a permission for some rows, or in what a limit of the
#: model uses, as they are checked afterwards.
MAX_CHECKED = 10_000


@dataclass(frozen=True)
class WriteScope:
    """The rows that a permission allows to change, and the allowed new state.

    As in PostgreSQL's policies: `conditions` are `USING`, `required` is `WITH CHECK`.
    """

    rows: Repository
    grant: Grant
    # Conditions in addition to the permission's: on the rows before, and after the change.
    within: Sequence[Condition] = ()
    kept: Sequence[Condition] = ()
    # Whether these are the caller's rows, which may be given to another user.
    gives_away: bool = False

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions for rows that may be changed."""
        return [*self.within, *self.rows.scope(self.grant)]

    @cached_property
    def required(self) -> list[Condition]:
        """The conditions that changed rows must meet."""
        return [*self.kept, *self.rows.written_scope(self.grant, self.gives_away)]

    def limited(self, *conditions: Condition) -> "WriteScope":
        """Return the scope limited to rows that meet conditions."""
        return replace(self, within=[*self.within, *conditions])

    def giving_away(self) -> "WriteScope":
        """Return the scope limited to the caller's rows, which may be given to another user."""
        own = self.rows.owned_by(self.grant.user_id)
        return replace(self, within=[*self.within, own], gives_away=True)


class Outcome:
    """Checks written rows against the required conditions, in the transaction.

    A written row may itself satisfy conditions that read its own table, so these must also hold in
    advance, for its new values.
    """

    def __init__(self, rows: Repository, model: str, required: Sequence[Condition]) -> None:
        """Check rows by conditions; `model` is the name in the access error."""
        self._rows, self._model = rows, model
        self._condition = func.coalesce(and_(*required), false())
        self._in_advance = OwnTableCondition(self._condition, rows.key.table)

    def check_new(self, items: Sequence[NewRow]) -> None:
        """Check rows before they are stored; raise the access error."""
        if not self._in_advance.reads_others:
            return
        # Many rows have the same values in the relevant columns.
        proposed = {self._key(values): values for values in map(self._new_values, items)}
        for values in proposed.values():
            if self._finds(select(literal(1)).where(not_(self._in_advance.with_values(values)))):
                raise denial_of_result(self._model)

    def check_change(self, chosen: Conditions, values: Values) -> None:
        """Check rows that meet conditions before they are changed; raise the access error.

        Locks them, so that they cannot change after the check.
        """
        if not self._in_advance.reads_others:
            return
        chosen = [*chosen, *self._rows.restriction]
        found = select(self._rows.key).where(*chosen)
        changed = self._in_advance.with_values(self._bound(values))
        with connection() as database:
            # More of them are refused when they are changed.
            database.execute(found.limit(MAX_CHECKED).with_for_update()).all()
        if self._finds(found.where(not_(changed))):
            raise denial_of_result(self._model)

    def check(self, row_ids: Sequence[Id]) -> None:
        """Check rows in the state that the transaction leaves; raise the access error.

        Locks the changed rows, so that concurrent commits count, too. Deleted rows are not checked.
        """
        key = self._rows.key
        if self._finds(
            select(key).where(Among(key, IDS), not_(self._condition)), {IDS: [*row_ids]}
        ):
            raise denial_of_result(self._model)

    def _finds(self, statement: Statement, values: Mapping[str, object] | None = None) -> bool:
        with connection() as database:
            return database.scalar(statement.limit(1), values) is not None

    def _new_values(self, item: NewRow) -> Mapping[str, Element]:
        """Return the new value of each column of a row."""
        values = item if isinstance(item, Mapping) else vars(item)
        absent = {column.name: null() for column in self._columns.values()}
        return {**absent, **self._bound(self._rows.with_defaults({**values}))}

    def _bound(self, values: Values) -> dict[str, Element]:
        """Return values by column names, as SQL."""
        columns = self._columns
        bound = dict[str, Element]()
        for name in values.keys() & columns.keys():
            value, column = values[name], columns[name]
            is_sql = isinstance(value, ColumnElement)
            bound[column.name] = value if is_sql else literal(value, column.type)
        return bound

    @property
    def _columns(self) -> Mapping[str, AnyColumn]:
        columns: Mapping[str, AnyColumn] = inspect(self._rows.model).columns
        return columns

    def _key(self, values: Mapping[str, Element]) -> tuple[object, ...]:
        """Return the values of a new row on which a condition depends."""
        depends = sorted(self._in_advance.columns & values.keys())
        return tuple(repr(getattr(values[name], "value", values[name])) for name in depends)


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
