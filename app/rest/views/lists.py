"""Lists: filters are parsed and statements compiled once; a page links to the next one."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote_plus, urlencode

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
from app.rest.rows.grants import RelatedGrants
from app.rest.rows.pages import KeptStatement, Page, RowSize, read_page, read_page_with_total
from app.rest.rows.values import Conditions, Row, Statement, Values

from .includes import included_filters, parse_includes
from .serialization import Includes, serialize

# Returns the condition that rows belong to the parent with an id, by a relation.
Belonging = Callable[[object], ColumnElement[bool]]
#: Most recently used filters of lists that a process keeps.
MAX_FILTERS = 64
#: Maximum characters of a filter that is kept.
MAX_LENGTH = 500
# The characters of JSON in a query, as all others are escaped; `urlencode` takes a call for each.
QUOTED = {code: quote_plus(chr(code)) for code in range(128)}
# The parts of a filter that say where a page begins.
BEGINNINGS = ("after", "offset", "skip")
# The headers of a page.
LINK = "Link"
TOTAL_COUNT = "X-Total-Count"
#: Maximum characters of the URL of a next page.
# A longer request line would be refused (MAX_LINE in app/server/incoming.py). The nginx of
# docs/deployment.md accepts it in a response's headers.
MAX_URL = 16_000
_encode = json.JSONEncoder(separators=(",", ":")).encode


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
        self._with_total = KeptStatement(rows.owner, self._build_with_total, rows.reader)
        self._count = KeptStatement(rows.owner, self._build_count, rows.reader)
        self._most = filter_.limit + 1
        self._characters = rows.shown.characters(filter_, self._most)
        self._row_size = rows.shown.row_size(filter_)

    def find(self, grant: Grant, parent_id: Id | None = None) -> Page:
        """Return the page of rows in the scope of a grant; raise InvalidFilter if too large.

        Those of a relation belong to the parent with this id.
        """
        return self._find(self._statement, read_page, grant, parent_id)

    def find_with_total(self, grant: Grant, parent_id: Id | None = None) -> Page:
        """Return the page as `find` does, with the number of rows of all pages if it has any.

        One statement costs less than two.
        """
        return self._find(self._with_total, read_page_with_total, grant, parent_id)

    def count(self, grant: Grant, parent_id: Id | None = None) -> int:
        """Return the number of rows of all pages, in the scope of a grant as `find`."""
        return self._count.read(grant, {"parent": parent_id}, 0, _number, self._related)

    def _find(
        self,
        statement: KeptStatement,
        read: Callable[[Iterable[Row], RowSize, Filter], Page],
        grant: Grant,
        parent_id: Id | None,
    ) -> Page:
        values = {"limit_": self._most, "parent": parent_id}

        def page(rows: Iterable[Row]) -> Page:
            return read(rows, self._row_size, self.filter_)

        return statement.read(grant, values, self._characters, page, self._related)

    @property
    def _related(self) -> RelatedGrants:
        return self._rows.relations.grants(self.filter_)

    def _build(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        chosen = [*self._of_parent, *conditions]
        return self._rows.page_statement(chosen, self.filter_, related)

    def _build_with_total(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        # All rows, whatever the page is correlated with.
        count = self._build_count(conditions, related).correlate(None).scalar_subquery()
        return self._build(conditions, related).add_columns(count.label("total_"))

    def _build_count(self, conditions: Conditions, related: RelatedGrants) -> Statement:
        filtered = self._rows.conditions(self.filter_, related)
        return self._rows.count_statement([*self._of_parent, *conditions, *filtered])

    @property
    def _of_parent(self) -> Conditions:
        return [self._belonging(bindparam("parent"))] if self._belonging else []


def _number(rows: Iterable[Row]) -> int:
    """Return the number in the only row of a count."""
    [row] = rows
    number: int = row.number
    return number


def find_list(
    collection: Collection,
    grant: Grant,
    belonging: Belonging | None = None,
    parent_id: Id | None = None,
) -> tuple[ListQuery, Page]:
    """Return the requested list, and its page, with the number of all rows if it is requested."""
    query = read_list(collection, belonging)
    find = query.find_with_total if _is_counted() else query.find
    return query, find(grant, parent_id)


def read_list(
    collection: Collection, belonging: Belonging | None = None, parameter: str = "filter"
) -> ListQuery:
    """Return the list for the request's `filter`, or only its `where`; raise InvalidFilter."""
    given = given_parameter(parameter)
    if sum(len(name) + len(value) for name, value in given) > MAX_LENGTH:
        return _make_list(collection, parameter, given, belonging)
    query = _known_list(collection, parameter, given, belonging)
    if given:
        # It may have been parsed for another call.
        count_filters(query.filters)
    return query


def _make_list(
    collection: Collection, parameter: str, given: Given, belonging: Belonging | None
) -> ListQuery:
    parsed = parse_parameter(parameter, MultiDict(given))
    filter_ = collection.parse(parsed if parameter == "filter" else {parameter: parsed})
    return ListQuery(collection, filter_, belonging)


_known_list = lru_cache(maxsize=MAX_FILTERS)(_make_list)


def respond_page(
    collection: Collection,
    page: Page,
    count: Callable[[], int],
    filter_: Filter,
    includes: Includes | None = None,
) -> ResponseReturnValue:
    """Return the response with a page of the rows that a filter selects.

    `includes` are the filter's, if already parsed. `Link` leads to the next page if there are more
    rows; `?count=true` requests the total number of rows in `X-Total-Count`, which `count` returns.
    """
    objects = serialize(collection, page.rows, filter_, includes)
    return respond_objects(collection, objects, page, count, filter_)


def respond_objects(
    collection: Collection,
    objects: Sequence[Values],
    page: Page,
    count: Callable[[], int],
    filter_: Filter,
    kept: Mapping[str, str] | None = None,
) -> ResponseReturnValue:
    """Return the response with a page as `respond_page` does, from these JSON objects.

    `kept` are further parameters for the link to the next page.
    """
    is_counted = _is_counted()
    response = jsonify(objects)
    if page.more and (url := _next_url(collection, page, filter_, kept or {})):
        response.headers[LINK] = f'<{url}>; rel="next"'
    if is_counted:
        response.headers[TOTAL_COUNT] = str(_total(count, filter_, page))
    return response


def _is_counted() -> bool:
    """Return True if the parameter `count` is `true`; raise InvalidFilter if it is invalid."""
    values = request.args.getlist("count")
    if values not in ([], ["true"], ["false"]):
        raise InvalidFilter("count must be true or false.")
    return values == ["true"]


def _next_url(
    collection: Collection, page: Page, filter_: Filter, kept: Mapping[str, str]
) -> str | None:
    """Return the URL of the next page; None if it is too long and the filter has a limit.

    The limit shows the client that there is another page. Raises InvalidFilter without one.
    """
    rest = {name: value for name, value in filter_.raw.items() if name not in BEGINNINGS}
    next_filter = {**rest, **collection.rows.cursors.next_page(filter_, page.rows)}
    given = _encode(next_filter).translate(QUOTED)
    query = "&".join([*([urlencode(kept)] if kept else []), f"filter={given}"])
    # Relative, so that it works behind any proxy; not the whole query, to leave out tokens.
    url = f"{request.script_root}{requested_path()}?{query}"
    if len(url) <= MAX_URL:
        return url
    if filter_.has_limit:
        return None
    raise InvalidFilter(
        "There are more rows, and the filter is too long for a link to them; set a limit."
    )


def _total(count: Callable[[], int], filter_: Filter, page: Page) -> int:
    """Return the number of rows of all pages; no query is needed on the last page."""
    if page.total is not None:
        return page.total
    is_last = not page.more and not filter_.after
    if is_last and (page.rows or not filter_.skip):
        return filter_.skip + len(page.rows)
    return count()
