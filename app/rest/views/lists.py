"""Lists that clients ask for again: the filter is parsed, and statements compiled, once."""

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any

from flask import request
from sqlalchemy import ColumnElement, Select, bindparam
from werkzeug.datastructures import MultiDict

from app.access.policy import Grant
from app.ids import Id
from app.rest.collection import Collection
from app.rest.filters.tree import Filter
from app.rest.requests.parameters import parse_parameter
from app.rest.rows.pages import Page
from app.rest.rows.repository import Conditions

from .includes import Include, parse_includes
from .kept import KeptStatement

# Returns the condition that rows belong to the parent with an id: those of a relation.
Belonging = Callable[[Any], ColumnElement[bool]]
#: Filters of lists that a process keeps, those that were used last.
MAX_FILTERS = 64
#: Characters of a filter that is kept.
MAX_LENGTH = 500


class ListQuery:
    """The rows of a resource that a filter selects, for any caller."""

    def __init__(
        self, resource: Collection, filter_: Filter, belonging: Belonging | None = None
    ) -> None:
        self.filter_ = filter_
        self._resource = resource
        self._belonging = belonging
        self._statement = KeptStatement(resource.rows, self._build)

    def find(self, grant: Grant, parent_id: Id | None = None) -> Page:
        """Return the page of the rows in the scope of a grant; raise InvalidFilter if too large.

        Those of a relation belong to the parent with this id.
        """
        rows, most = self._resource.rows, self.filter_.limit + 1
        values = {"limit_": most, "parent": parent_id}
        characters = rows.characters(self.filter_, most)
        return self._statement.read(
            grant, values, characters, partial(rows.read_page, self.filter_)
        )

    @cached_property
    def includes(self) -> list[Include]:
        """What is included into the rows; raises InvalidFilter."""
        return parse_includes(self._resource, self.filter_)

    def _build(self, conditions: Conditions) -> Select[Any]:
        of_parent = [self._belonging(bindparam("parent"))] if self._belonging else []
        return self._resource.rows.page_statement([*of_parent, *conditions], self.filter_)


def read_list(resource: Collection, belonging: Belonging | None = None) -> ListQuery:
    """Return the list that the parameter `filter` of the request is for; raise InvalidFilter."""
    given = tuple(
        pair for pair in request.args.items(multi=True) if pair[0].partition("[")[0] == "filter"
    )
    if sum(len(name) + len(value) for name, value in given) > MAX_LENGTH:
        return _make_list(resource, given, belonging)
    return _known_list(resource, given, belonging)


def _make_list(
    resource: Collection, given: tuple[tuple[str, str], ...], belonging: Belonging | None
) -> ListQuery:
    filter_ = resource.parse(parse_parameter("filter", MultiDict(given)))
    return ListQuery(resource, filter_, belonging)


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)
