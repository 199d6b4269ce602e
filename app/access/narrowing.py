"""Permissions for a method that also depend on the rules for another one.

A method that was added to all models must not show what an older one may not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import ColumnElement

from app.database.columns import AnyColumn
from app.ids import Id

from .policy import Grant, authorize, compiled_rules, denial
from .rules import Decision


@dataclass(frozen=True)
class JointGrant(Grant):
    """A permission for the rows that each of several grants covers."""

    grants: tuple[Grant, ...]
    by_row: ClassVar[bool] = True

    def scope(self, owner: AnyColumn | None) -> list[ColumnElement[bool]]:
        """Return the conditions of all grants."""
        return [condition for grant in self.grants for condition in grant.scope(owner)]

    def written_scope(
        self, owner: AnyColumn | None, is_own: bool = False
    ) -> list[ColumnElement[bool]]:
        """Return the conditions of all grants for rows that were written."""
        return [each for grant in self.grants for each in grant.written_scope(owner, is_own)]

    @property
    def only_own(self) -> bool:
        """Return False: the conditions say which rows are permitted."""
        return False

    def covers(self, owner: Id | None) -> bool:
        """Return True if rows of a user may be permitted."""
        return all(grant.covers(owner) for grant in self.grants)


def authorize_narrowed(model: str, method: str, row_id: object = None) -> Grant:
    """Return the caller's grant for a method, as `narrow` does; raise the `denial`."""
    grant = authorize(model, method, row_id)
    return narrow(grant, model, method, lambda other: authorize(model, other, row_id))


def narrow(grant: Grant, model: str, method: str, find: Callable[[str], Grant]) -> Grant:
    """Return a grant for a method for the rows on which the caller may call its `narrowed_by`.

    `find` returns the grant for that. Raises the `denial` if nothing is permitted.
    """
    narrowed_by = compiled_rules.current[model, method].narrowed_by
    other = find(narrowed_by) if narrowed_by else grant
    if other == grant:
        return grant
    decisions = grant.decision, other.decision
    joint = Decision(
        own=all(decision.own for decision in decisions),
        others=all(decision.others for decision in decisions),
    )
    if not joint:
        raise denial(model)
    if grant.by_row or other.by_row:
        return JointGrant(grant.user_id, joint, (grant, other))
    return Grant(grant.user_id, joint)
