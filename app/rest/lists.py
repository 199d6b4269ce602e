"""Lists that clients ask for again: the filter is parsed, and the statement compiled, once."""

from collections.abc import Sequence
from functools import lru_cache

from flask import request
from sqlalchemy import ColumnElement
from werkzeug.datastructures import MultiDict

from app.access.policy import Grant
from app.statements import PreparedStatement

from .filters import Filter
from .pages import Page
from .parameters import parse_parameter
from .resource import Resource

# Filters that a process keeps, those that were used last, and the characters of one of them.
MAX_FILTERS = 64
MAX_LENGTH = 500


class ListQuery:
    """The rows of a resource that a filter selects, for any caller.

    When it is executed again its statement is compiled, once for callers who may read all rows and
    once for those who may read their own: to build it is most of the work of a short list.
    """

    def __init__(self, resource: Resource, filter_: Filter) -> None:
        self.filter_ = filter_
        self._rows = resource.rows
        # By whether only a caller's own rows are permitted; None where it cannot be compiled.
        self._statements: dict[bool, PreparedStatement | None] = {}
        self._executed: set[bool] = set()

    def find(self, grant: Grant, scope: Sequence[ColumnElement[bool]]) -> Page:
        """Return the page of the rows in the scope of a grant; raise InvalidFilter if too large."""
        own = grant.only_own and self._rows.owner is not None
        statement = self._prepared(own) if own or not scope else None
        if statement is None:
            return self._rows.find(scope, self.filter_)
        return self._rows.find_prepared(statement, self.filter_, grant.user_id)

    def _prepared(self, own: bool) -> PreparedStatement | None:
        if own not in self._executed:
            self._executed.add(own)
            return None
        if own not in self._statements:
            conditions = [self._rows.is_owner] if own else []
            self._statements[own] = self._rows.prepare_find(conditions, self.filter_)
        return self._statements[own]


def read_list(resource: Resource) -> ListQuery:
    """Return the list that the parameter `filter` of the request is for; raise InvalidFilter."""
    given = tuple(
        pair for pair in request.args.items(multi=True) if pair[0].partition("[")[0] == "filter"
    )
    if sum(len(name) + len(value) for name, value in given) > MAX_LENGTH:
        return _make_list(resource, given)
    return _known_list(resource, given)


def _make_list(resource: Resource, given: tuple[tuple[str, str], ...]) -> ListQuery:
    return ListQuery(resource, resource.parse(parse_parameter("filter", MultiDict(given))))


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)
