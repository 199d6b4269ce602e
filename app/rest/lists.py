"""Lists that clients ask for again: the filter is parsed, and the statement compiled, once."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from flask import request
from sqlalchemy import ColumnElement, bindparam
from werkzeug.datastructures import MultiDict

from app.access.policy import Grant
from app.ids import Id
from app.statements import PreparedStatement

from .filters import Filter
from .pages import Page
from .parameters import parse_parameter
from .resource import Resource

# Returns the condition that rows belong to the parent with an id: those of a relation.
Belonging = Callable[[Any], ColumnElement[bool]]
# Filters that a process keeps, those that were used last, and the characters of one of them.
MAX_FILTERS = 64
MAX_LENGTH = 500


class ListQuery:
    """The rows of a resource that a filter selects, for any caller.

    When it is executed again its statement is compiled, once for callers who may read all rows and
    once for those who may read their own: to build it is most of the work of a short list.
    """

    def __init__(
        self, resource: Resource, filter_: Filter, belonging: Belonging | None = None
    ) -> None:
        self.filter_ = filter_
        self._belonging = belonging
        self._rows = resource.rows
        # By whether only a caller's own rows are permitted; None where it cannot be compiled.
        self._statements: dict[bool, PreparedStatement | None] = {}
        self._executed: set[bool] = set()

    def find(
        self, grant: Grant, scope: Sequence[ColumnElement[bool]], parent_id: Id | None = None
    ) -> Page:
        """Return the page of the rows in the scope of a grant; raise InvalidFilter if too large.

        Those of a relation belong to the parent with this id.
        """
        own = grant.only_own and self._rows.owner is not None
        statement = self._prepared(own) if own or not scope else None
        if statement is None:
            return self._rows.find([*self._of_parent(parent_id), *scope], self.filter_)
        values = {"owner": grant.user_id, "parent": parent_id}
        return self._rows.find_prepared(statement, self.filter_, values)

    def _of_parent(self, parent_id: Any) -> list[ColumnElement[bool]]:
        return [self._belonging(parent_id)] if self._belonging else []

    def _prepared(self, own: bool) -> PreparedStatement | None:
        if own not in self._executed:
            self._executed.add(own)
            return None
        if own not in self._statements:
            conditions = [*self._of_parent(bindparam("parent")), *[self._rows.is_owner] * own]
            self._statements[own] = self._rows.prepare_find(conditions, self.filter_)
        return self._statements[own]


def read_list(resource: Resource, belonging: Belonging | None = None) -> ListQuery:
    """Return the list that the parameter `filter` of the request is for; raise InvalidFilter."""
    given = tuple(
        pair for pair in request.args.items(multi=True) if pair[0].partition("[")[0] == "filter"
    )
    if sum(len(name) + len(value) for name, value in given) > MAX_LENGTH:
        return _make_list(resource, given, belonging)
    return _known_list(resource, given, belonging)


def _make_list(
    resource: Resource, given: tuple[tuple[str, str], ...], belonging: Belonging | None
) -> ListQuery:
    filter_ = resource.parse(parse_parameter("filter", MultiDict(given)))
    return ListQuery(resource, filter_, belonging)


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)
