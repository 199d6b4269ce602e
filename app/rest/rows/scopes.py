"""Scopes of writes: which rows a caller may change, and what these must fulfil afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlalchemy import and_, false, func, not_, select

from app.access.policy import Grant
from app.database.dialects import Among
from app.database.session import connection
from app.ids import Id

from .repository import Condition, Conditions, Repository

# The parameter with the ids of rows.
IDS = "ids"


@dataclass(frozen=True)
class WriteScope:
    """The rows that a caller may change by a permission, and how they may be left.

    As PostgreSQL's policies have it: `conditions` are `USING`, `required` is `WITH CHECK`.
    """

    rows: Repository
    grant: Grant
    # Conditions beside those of the permission: of the rows as they are, and as they are left.
    within: Sequence[Condition] = ()
    kept: Sequence[Condition] = ()
    # Whether these are the caller's rows, and may be somebody else's afterwards.
    gives_away: bool = False

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions for the rows that may be changed."""
        return [*self.within, *self.rows.scope(self.grant)]

    @cached_property
    def required(self) -> list[Condition]:
        """The conditions that the rows must fulfil once they are changed."""
        return [*self.kept, *self.rows.written_scope(self.grant, self.gives_away)]

    def limited(self, *conditions: Condition) -> "WriteScope":
        """Return the scope of those rows in it that fulfil conditions."""
        return replace(self, within=[*self.within, *conditions])

    def giving_away(self) -> "WriteScope":
        """Return the scope of the caller's rows in it, which may be given to somebody else."""
        own = self.rows.owned_by(self.grant.user_id)
        return replace(self, within=[*self.within, own], gives_away=True)


def leaves_scope(rows: Repository, row_ids: Sequence[Id], required: Conditions) -> bool:
    """Return True if a row that has one of these ids does not fulfil the conditions.

    As the transaction of the caller has left it: the rows that it has changed are locked, and what
    others have committed meanwhile counts.
    """
    breaks = not_(func.coalesce(and_(*required), false()))
    statement = select(rows.key).where(Among(rows.key, IDS), breaks).limit(1)
    with connection() as database:
        return database.scalar(statement, {IDS: [*row_ids]}) is not None
