"""Statements about rows that callers may read, for clients that ask for the same again."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.sql.visitors import iterate

from app.access.policy import Grant
from app.database.statements import PreparedStatement
from app.rest.rows.repository import Conditions, Repository, Values
from app.rest.rows.results import is_read_in_parts, open_rows

Result = TypeVar("Result")
# Returns the statement for the rows that fulfil conditions; it may have parameters.
Build = Callable[[Conditions], Select[Any]]
#: Compiled statements of lists and includes that a process keeps, those that were used last.
# Each takes about 50 kB, and a list has one for each of its includes.
MAX_STATEMENTS = 128


class KeptStatement:
    """A statement that is compiled when it is executed again.

    Once for callers who may read all rows, and once for those who may read their own: to build it
    is most of the work of a short answer.
    """

    def __init__(self, rows: Repository, build: Build) -> None:
        self._rows = rows
        self._build = build
        # By whether only a caller's own rows are permitted.
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
        is_kept = (own or not grant.scope(owner)) and not is_read_in_parts(characters)
        if is_kept and (prepared := self._prepared(own)):
            return prepared.read({**values, "owner": grant.user_id}, read)
        with open_rows(self._build(grant.scope(owner)), values, characters) as rows:
            return read(rows)

    def _prepared(self, own: bool) -> PreparedStatement | None:
        if own not in self._executed:
            self._executed.add(own)
            return None
        return _prepare(self, own)

    def prepare(self, own: bool) -> PreparedStatement | None:
        """Compile it for callers who may read their own rows, or all; None if it cannot be."""
        statement = self._build([self._rows.is_owner] if own else [])
        # SQLAlchemy writes lists of values into a statement at each execution.
        has_lists = any(getattr(each, "expanding", False) for each in iterate(statement))
        return None if has_lists else PreparedStatement(statement)


_prepare = lru_cache(maxsize=MAX_STATEMENTS)(KeptStatement.prepare)
