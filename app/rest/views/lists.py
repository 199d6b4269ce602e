"""Lists that are requested repeatedly: filters are parsed, and statements compiled, once."""

from collections.abc import Callable
from functools import lru_cache, partial

from sqlalchemy import ColumnElement, bindparam
from werkzeug.datastructures import MultiDict

from app.access.policy import Grant
from app.ids import Id
from app.rest.collection import Collection
from app.rest.filters.tree import Filter
from app.rest.requests.parameters import Given, given_parameter, parse_parameter
from app.rest.rows.pages import Page, read_page
from app.rest.rows.results import KeptStatement
from app.rest.rows.values import Conditions, Statement

from .includes import parse_includes

# Returns the condition that rows belong to the parent with an id, by a relation.
Belonging = Callable[[object], ColumnElement[bool]]
#: Most recently used filters of lists that a process keeps.
MAX_FILTERS = 64
#: Maximum characters of a filter that is kept.
MAX_LENGTH = 500


class ListQuery:
    """The rows of a collection that a filter selects, for any caller, with includes."""

    def __init__(
        self, collection: Collection, filter_: Filter, belonging: Belonging | None = None
    ) -> None:
        rows = collection.rows
        self.filter_ = filter_
        self.includes = parse_includes(collection, filter_)
        self._rows = rows
        self._belonging = belonging
        self._statement = KeptStatement(rows.owner, self._build, rows.reader)
        self._most = filter_.limit + 1
        self._characters = rows.characters(filter_, self._most)
        self._read = partial(read_page, row_size=rows.row_size(filter_), filter_=filter_)

    def find(self, grant: Grant, parent_id: Id | None = None) -> Page:
        """Return the page of rows in the scope of a grant; raise InvalidFilter if too large.

        Those of a relation belong to the parent with this id.
        """
        values = {"limit_": self._most, "parent": parent_id}
        return self._statement.read(grant, values, self._characters, self._read)

    def _build(self, conditions: Conditions) -> Statement:
        of_parent = [self._belonging(bindparam("parent"))] if self._belonging else []
        return self._rows.page_statement([*of_parent, *conditions], self.filter_)


def find_list(
    collection: Collection,
    grant: Grant,
    belonging: Belonging | None = None,
    parent_id: Id | None = None,
) -> tuple[ListQuery, Page]:
    """Return the requested list, and its page as `ListQuery.find` does."""
    query = read_list(collection, belonging)
    return query, query.find(grant, parent_id)


def read_list(collection: Collection, belonging: Belonging | None = None) -> ListQuery:
    """Return the list for the request's parameter `filter`; raise InvalidFilter."""
    given = given_parameter("filter")
    if sum(len(name) + len(value) for name, value in given) > MAX_LENGTH:
        return _make_list(collection, given, belonging)
    return _known_list(collection, given, belonging)


def _make_list(collection: Collection, given: Given, belonging: Belonging | None) -> ListQuery:
    filter_ = collection.parse(parse_parameter("filter", MultiDict(given)))
    return ListQuery(collection, filter_, belonging)


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)
