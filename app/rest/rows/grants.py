"""Grants for related rows, and those with the same SQL for every caller who has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import ColumnElement, bindparam

from app.access.policy import Grant
from app.access.rules import Decision
from app.database.columns import AnyColumn
from app.rest.filters.sql import RelatedSql
from app.rest.filters.tree import Filter, RelationPath

# The parameter with the caller's id.
OWNER = "owner"


@dataclass(frozen=True)
class OwnRows(Grant):
    """A permission for the rows of the caller whose id is the parameter OWNER."""

    def scope(self, owner: AnyColumn | None) -> list[ColumnElement[bool]]:
        """Return the condition on the owner."""
        return [] if owner is None else [owner == bindparam(OWNER)]


ALL_ROWS = Grant(None, Decision(own=True, others=True))
OWN_ROWS = OwnRows(None, Decision(own=True, others=False))


def general_form(grant: Grant, owner: AnyColumn | None) -> Grant | None:
    """Return a grant for the same rows without the caller's id; None if the SQL depends on more."""
    if grant.only_own and owner is not None:
        return OWN_ROWS
    return None if grant.scope(owner) else ALL_ROWS


# Grants for relations in general form, by which statements are kept.
GeneralGrants = tuple[tuple[RelationPath, Grant | None], ...]


@dataclass(frozen=True)
class RelatedGrants:
    """The caller's grants for the relations of a filter; None for those that show no row."""

    by_path: Mapping[RelationPath, Grant | None]
    # The same in general form, so that callers may share a statement; None if they cannot.
    general: GeneralGrants | None


NO_GRANTS = RelatedGrants({}, ())


class Relations(Protocol):
    """The relations of rows, in the SQL of filters."""

    def grants(self, filter_: Filter) -> RelatedGrants:
        """Return the caller's grants for the relations of a filter; raise the access error."""

    def sql(self, filter_: Filter, grants: RelatedGrants | None = None) -> RelatedSql:
        """Return the SQL about the related rows that grants cover, by default the caller's."""
