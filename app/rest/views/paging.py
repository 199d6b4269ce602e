"""Responses with a page of rows, a link to the next page and the total number of rows."""

import json
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from app.errors import InvalidFilter
from app.rest.collection import Collection
from app.rest.filters.tree import Filter
from app.rest.routing import requested_path
from app.rest.rows.pages import Page
from app.rest.rows.values import Conditions

from .serialization import Includes, Object, serialize

# The headers of a page.
LINK = "Link"
TOTAL_COUNT = "X-Total-Count"
#: Maximum characters of the URL of a next page.
# A longer request line would be refused (MAX_LINE in app/server/incoming.py). The nginx of
# docs/deployment.md accepts it in a response's headers.
MAX_URL = 16_000


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
    objects: Sequence[Object],
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
