"""Lists: filters are parsed and statements compiled once; a page links to the next one."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement, bindparam
from werkzeug.datastructures import MultiDict

from app.access.policy import Grant
from app.errors import InvalidFilter
from app.ids import Id
from app.rest.collection import Collection
from app.rest.filters.searches import count_filters
from app.rest.filters.tree import Filter
from app.rest.requests.parameters import Given, given_parameter, parse_parameter
from app.rest.routing import requested_path
from app.rest.rows.grants import NO_GRANTS, RelatedGrants
from app.rest.rows.pages import KeptStatement, Page, read_page
from app.rest.rows.values import Conditions, Statement, Values

from .includes import included_filters, parse_includes
from .serialization import Includes, serialize

# Returns the condition that rows belong to the parent with an id, by a relation.
Belonging = Callable[[object], ColumnElement[bool]]
#: Most recently used filters of lists that a process keeps.
MAX_FILTERS = 64
#: Maximum characters of a filter that is kept.
MAX_LENGTH = 500
# The headers of a page.
LINK = "Link"
TOTAL_COUNT = "X-Total-Count"
#: Maximum characters of the URL of a next page.
# A longer request line would be refused (MAX_LINE in app/server/incoming.py). The nginx of
# docs/deployment.md accepts it in a response's headers.
MAX_URL = 16_000


class ListQuery:
    """The rows of a collection that a filter selects, for any caller, with includes."""

    def __init__(
        self, collection: Collection, filter_: Filter, belonging: Belonging | None = None
    ) -> None:
        rows = collection.rows
        self.filter_ = filter_
        self.includes = parse_includes(collection, filter_)
        # Those of the rows and of all includes.
        self.filters = [filter_, *included_filters(self.includes)]
        self._rows = rows
        self._belonging = belonging
        self._statement = KeptStatement(rows.owner, self._build, rows.reader)
        self._most = filter_.limit + 1
        self._characters = rows.shown.characters(filter_, self._most)
        self._read = partial(read_page, row_size=rows.shown.row_size(filter_), filter_=filter_)

    def find(self, grant: Grant, parent_id: Id | None = None) -> Page:
        """Return the page of rows in the scope of a grant; raise InvalidFilter if too large.

        Those of a relation belong to the parent with this id.
        """
        values = {"limit_": self._most, "parent": parent_id}
        filter_ = self.filter_
        related = NO_GRANTS
        if filter_.relations or self._rows.shown.is_dynamic:
            related = self._rows.relations.grants(filter_)
        return self._statement.read(grant, values, self._characters, self._read, related)

    def _build(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        of_parent = [self._belonging(bindparam("parent"))] if self._belonging else []
        return self._rows.page_statement([*of_parent, *conditions], self.filter_, related)


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
    query = _known_list(collection, given, belonging)
    if given:
        # It may have been parsed for another call.
        count_filters(query.filters)
    return query


def _make_list(collection: Collection, given: Given, belonging: Belonging | None) -> ListQuery:
    filter_ = collection.parse(parse_parameter("filter", MultiDict(given)))
    return ListQuery(collection, filter_, belonging)


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)


def respond_page(
    collection: Collection,
    page: Page,
    scope: Callable[[], Conditions],
    filter_: Filter,
    includes: Includes | None = None,
) -> ResponseReturnValue:
    """Return the response with a page of the rows within a scope that a filter selects.

    `includes` are the filter's, if already parsed. `Link` leads to the next page if there are more
    rows; `?count=true` requests the total number of rows in `X-Total-Count`.
    """
    objects = serialize(collection, page.rows, filter_, includes)
    return respond_objects(objects, collection, page, scope, filter_)


def respond_objects(
    objects: Sequence[Values],
    collection: Collection,
    page: Page,
    scope: Callable[[], Conditions],
    filter_: Filter,
    kept: Mapping[str, str] | None = None,
) -> ResponseReturnValue:
    """Return the response with a page as `respond_page` does, from these JSON objects.

    `kept` are further parameters for the link to the next page.
    """
    is_counted = _is_counted()
    response = jsonify(objects)
    if page.more and (url := _next_url(page, filter_, kept or {})):
        response.headers[LINK] = f'<{url}>; rel="next"'
    if is_counted:
        response.headers[TOTAL_COUNT] = str(_total(collection, scope, filter_, page))
    return response


def _is_counted() -> bool:
    """Return True if the parameter `count` is `true`; raise InvalidFilter if it is invalid."""
    values = request.args.getlist("count")
    if values not in ([], ["true"], ["false"]):
        raise InvalidFilter("count must be true or false.")
    return values == ["true"]


def _next_url(page: Page, filter_: Filter, kept: Mapping[str, str]) -> str | None:
    """Return the URL of the next page; None if it is too long and the filter has a limit.

    The limit shows the client that there is another page. Raises InvalidFilter without one.
    """
    rest = {name: value for name, value in filter_.raw.items() if name != "offset"}
    next_filter = {**rest, "skip": filter_.skip + len(page.rows)}
    query = urlencode({**kept, "filter": json.dumps(next_filter, separators=(",", ":"))})
    # Relative, so that it works behind any proxy; not the whole query, to leave out tokens.
    url = f"{request.script_root}{requested_path()}?{query}"
    if len(url) <= MAX_URL:
        return url
    if filter_.has_limit:
        return None
    raise InvalidFilter(
        "There are more rows, and the filter is too long for a link to them; set a limit."
    )


def _total(
    collection: Collection, scope: Callable[[], Conditions], filter_: Filter, page: Page
) -> int:
    """Return the number of rows of all pages; no query is needed on the last page."""
    if not page.more and (page.rows or not filter_.skip):
        return filter_.skip + len(page.rows)
    return collection.rows.count(scope(), filter_)
