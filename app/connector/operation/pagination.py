"""Iterating over the pages of a list, with a paginator for each style of paging."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from requests.utils import parse_header_links

from app.connector.errors import PaginationError
from app.connector.http.client import Call
from app.connector.request.request import Request
from app.connector.request.url import resolve_location
from app.connector.settings.options import PAGINATE, PAGINATE_STYLES, default_values
from app.connector.types import JsonValue, Settings
from app.problems import Problems, join_path, type_name

from .response_path import ResponsePath, parse_path


class Paginator:
    """Finds the request for the next page; this base class finds no next page."""

    def __init__(self, settings: Settings) -> None:
        self.max_pages: int = settings["maxPages"]
        self._limit: int | None = settings.get("limit")
        self._limit_param: str = settings["limitParam"]

    def first(self, request: Request) -> Request:
        """Return the request for the first page."""
        if self._limit is None:
            return request.copy()
        return _with_query(request, self._limit_param, self._limit)

    def count(self, call: Call) -> int | None:
        """Return the number of items of a page, if the style counts them."""
        return None

    def next(self, request: Request, call: Call, count: int | None) -> Request | None:
        """Return the request for the page after this one, or None after the last."""
        return None


class Pages:
    """An iterator over the results of the pages of a call, which sends one request for each.

    >>> pages = source.orders.pages(customer=7)
    >>> for page in pages:
    ...     print(pages.count, len(page), pages.has_next)
    1 100 True
    2 31 False

    `count` is the number of pages read so far; `has_next` is True if there may be another. A
    request that repeats an earlier one, or a page beyond `maxPages`, raises PaginationError.
    """

    def __init__(
        self, paginator: Paginator, request: Request, send: Callable[[Request], Call]
    ) -> None:
        self.count = 0
        self._paginator = paginator
        self._send = send
        self._following: Request | None = paginator.first(request)
        self._previous: Call | None = None
        self._seen: set[str] = set()

    @property
    def has_next(self) -> bool:
        """Whether there may be another page."""
        return self._following is not None

    def __iter__(self) -> Iterator[JsonValue]:
        return self

    def __next__(self) -> JsonValue:
        request, self._following = self._following, None
        if request is None:
            raise StopIteration
        self._check(request)
        call = self._send(request.copy())
        count = self._paginator.count(call)
        if self._previous is not None and count is not None:
            if not count:
                raise StopIteration
            _refuse_same(call, self._previous)
        self._previous = call
        self._following = self._paginator.next(request, call, count)
        self.count += 1
        return call.result

    def _check(self, request: Request) -> None:
        if self.count >= self._paginator.max_pages:
            raise PaginationError(f"there are more than {self._paginator.max_pages} pages")
        if request.full_url in self._seen:
            raise PaginationError("the next page was already read")
        self._seen.add(request.full_url)


def items_of(page: JsonValue) -> list[JsonValue]:
    """Return the items of a page: those of a list, none for None, else the page itself.

    >>> [order["id"] for page in source.orders.pages() for order in items_of(page)]
    [1, 2, 3]
    """
    if isinstance(page, list):
        return page
    return [] if page is None else [page]


class _LinkPaginator(Paginator):
    """Paging by the url of the next page in the header Link; RFC 8288."""

    def next(self, request: Request, call: Call, count: int | None) -> Request | None:
        if call.response is None:
            return None
        for link in parse_header_links(call.response.headers.get("Link", "")):
            if link.get("rel") == "next":
                return _redirected(request, str(link["url"]))
        return None


class _BodyPaginator(Paginator):
    """Paging by a value at `path` in the body: the next page's url, or a query entry."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._path = ResponsePath(settings["path"], "first")
        self._param: str | None = settings["param"] if settings["type"] == "cursor" else None

    def next(self, request: Request, call: Call, count: int | None) -> Request | None:
        target = None if call.response is None else self._path.select(call.response.body)
        if target in (None, "", False):
            return None
        if not isinstance(target, str | int | float):
            raise PaginationError(
                f"the next page must be named by a string or a number, got {type_name(target)}"
            )
        if self._param is None:
            return _redirected(request, str(target))
        return _with_query(request, self._param, target)


class _NumberPaginator(Paginator):
    """Paging by numbers; a page with fewer items than the limit, or with none, is the last."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._param: str = settings["param"]
        self._start: int = settings["start"]
        self._counts_items = settings["type"] == "offset"
        self._items = ResponsePath(settings["items"]) if "items" in settings else None

    def first(self, request: Request) -> Request:
        return _with_query(super().first(request), self._param, self._start)

    def next(self, request: Request, call: Call, count: int | None) -> Request | None:
        if not count or count < (self._limit or 1):
            return None
        step = count if self._counts_items else 1
        return _with_query(request, self._param, request.query[self._param] + step)

    def count(self, call: Call) -> int:
        found = call.result
        if self._items is not None and call.response is not None:
            found = self._items.select(call.response.body)
        if found is None:
            return 0
        if isinstance(found, list):
            return len(found)
        raise PaginationError(
            f"{call.operation}: a page must be a list, got {type_name(found)}; "
            "set paginate.items to the path of the list"
        )


_PAGINATORS: dict[str, type[Paginator]] = {
    "link": _LinkPaginator,
    "next": _BodyPaginator,
    "cursor": _BodyPaginator,
    "page": _NumberPaginator,
    "offset": _NumberPaginator,
}


def make_paginator(settings: Settings | None, problems: Problems, path: str) -> Paginator:
    """Return the paginator for a `paginate` object; the base class if it is missing or invalid."""
    if settings is None or _has_problems(settings, problems, path):
        return Paginator(default_values(PAGINATE))
    kind = settings["type"]
    return _PAGINATORS[kind]({**default_values(PAGINATE), **PAGINATE_STYLES[kind], **settings})


def _has_problems(settings: Settings, problems: Problems, path: str) -> bool:
    if _PAGINATORS[settings["type"]] is _BodyPaginator and "path" not in settings:
        problems.add(join_path(path, "path"), f"is needed for type '{settings['type']}'")
    for key in ("path", "items"):
        try:
            parse_path(settings.get(key, "$"))
        except ValueError as error:
            problems.add(join_path(path, key), str(error))
    return problems.has_error(path)


def _with_query(request: Request, name: str, value: object) -> Request:
    following = request.copy()
    following.query[name] = value
    return following


def _redirected(request: Request, url: str) -> Request | None:
    return request.redirected_to(resolve_location(request.full_url, url)) if url else None


def _refuse_same(call: Call, previous: Call) -> None:
    with suppress(RecursionError):
        if call.result != previous.result:
            return
        raise PaginationError(f"{call.operation}: the same page was received twice")
    raise PaginationError("a page is nested too deeply")
