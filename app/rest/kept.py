"""Statements about rows that callers may read, for clients that ask for the same again."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.sql.visitors import iterate

from app.access.policy import Grant
from app.statements import PreparedStatement

from .repository import Conditions, Repository, Values
from .results import is_read_in_parts, open_rows

Result = TypeVar("Result")
# Returns the statement for the rows that fulfil conditions; it may have parameters.
Build = Callable[[Conditions], Select[Any]]


class KeptStatement:
    """A statement that is compiled when it is executed again.

    Once for callers who may read all rows, and once for those who may read their own: to build it
    is most of the work of a short answer.
    """

    def __init__(self, rows: Repository, build: Build) -> None:
        self._rows = rows
        self._build = build
        # By whether only a caller's own rows are permitted; None where it cannot be compiled.
        self._prepared: dict[bool, PreparedStatement | None] = {}
        self._executed: set[bool] = set()

    def read(
        self,
        grant: Grant,
        values: Values,
        characters: int,
        read: Callable[[Iterable[Any]], Result],
    ) -> Result:
        """Execute it in the scope of a grant, with values of its parameters.

        Returns what a function makes of the rows, which may have so many characters in all.
        """
        owner = self._rows.owner
        own = grant.only_own and owner is not None
        prepared = self._prepare(own) if own or not grant.scope(owner) else None
        if prepared and not is_read_in_parts(characters):
            return prepared.read({**values, "owner": grant.user_id}, read)
        with open_rows(self._build(grant.scope(owner)), values, characters) as rows:
            return read(rows)

    def _prepare(self, own: bool) -> PreparedStatement | None:
        if own not in self._executed:
            self._executed.add(own)
            return None
        if own not in self._prepared:
            statement = self._build([self._rows.is_owner] if own else [])
            # SQLAlchemy writes lists of values into a statement at each execution.
            has_lists = any(getattr(each, "expanding", False) for each in iterate(statement))
            self._prepared[own] = None if has_lists else PreparedStatement(statement)
        return self._prepared[own]
