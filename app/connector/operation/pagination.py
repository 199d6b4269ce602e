"""Iterating over the pages of a list: one paginator for each style of paging."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from requests.utils import parse_header_links

from app.connector.errors import PaginationError, translate_errors
from app.connector.http.call import Call
from app.connector.problems import ErrorCollector, join_path, type_name
from app.connector.request.model import Request
from app.connector.request.url import resolve_location
from app.connector.settings.options import PAGINATE, PAGINATE_STYLES, default_values

from .response_path import ResponsePath, parse_path


class Paginator(ABC):
    """Sends the request of one page after the other until there is no next page."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._limit: int | None = settings.get("limit")
        self._limit_param: str = settings["limitParam"]
        self._max_pages: int = settings["maxPages"]

    def pages(self, request: Request, send: Callable[[Request], Call]) -> Iterator[Call]:
        """Yield the call of every page.

        A request that was sent before, and more than `maxPages` pages, raise PaginationError.
        """
        seen: set[str] = set()
        previous: Call | None = None
        following: Request | None = self._first(request)
        for _ in range(self._max_pages):
            if following is None:
                return
            _refuse_repeated(following, seen)
            call = send(following.copy())
            count = self._count(call)
            if self._is_past_end(call, previous, count):
                return
            yield call
            previous = call
            following = self._next(following, call, count)
        if following is not None:
            raise PaginationError(f"there are more than {self._max_pages} pages")

    def _first(self, request: Request) -> Request:
        if self._limit is None:
            return request.copy()
        return _with_query(request, self._limit_param, self._limit)

    def _count(self, call: Call) -> int:
        """Return the number of items, where the style needs it."""
        return 0

    def _is_past_end(self, call: Call, previous: Call | None, count: int) -> bool:
        """Tell whether the page before this one was the last."""
        return False

    @abstractmethod
    def _next(self, request: Request, call: Call, count: int) -> Request | None:
        """Return the request for the page after this one, or None after the last."""


class LinkPaginator(Paginator):
    """The header Link names the next page by its url; RFC 8288."""

    def _next(self, request: Request, call: Call, count: int) -> Request | None:
        if call.response is None:
            return None
        for link in parse_header_links(call.response.headers.get("Link", "")):
            if link.get("rel") == "next":
                return _redirected(request, str(link["url"]))
        return None


class _BodyPaginator(Paginator):
    """A value in the body, at `path`, says which page is next."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._path = ResponsePath(settings["path"], "first")

    def _next(self, request: Request, call: Call, count: int) -> Request | None:
        if call.response is None:
            return None
        target = self._path.select(call.response.body)
        if target in (None, "", False):
            return None
        if not isinstance(target, str | int | float):
            raise PaginationError(
                f"the next page must be named by a string or a number, got {type_name(target)}"
            )
        return self._follow(request, target)

    @abstractmethod
    def _follow(self, request: Request, target: str | float) -> Request | None:
        """Return the request for the page that the value names."""


class NextUrlPaginator(_BodyPaginator):
    """The body has the url of the next page."""

    def _follow(self, request: Request, target: str | float) -> Request | None:
        return _redirected(request, str(target))


class CursorPaginator(_BodyPaginator):
    """The body has a cursor, which the next request sends as a query entry."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._param: str = settings["param"]

    def _follow(self, request: Request, target: str | float) -> Request:
        return _with_query(request, self._param, target)


class _NumberPaginator(Paginator):
    """Pages have numbers; a page with fewer items than the limit, or with none, is the last."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._param: str = settings["param"]
        self._start: int = settings["start"]
        self._items = ResponsePath(settings["items"]) if "items" in settings else None

    def _first(self, request: Request) -> Request:
        return _with_query(super()._first(request), self._param, self._start)

    def _is_past_end(self, call: Call, previous: Call | None, count: int) -> bool:
        if count and previous is not None and _is_same(call.result, previous.result):
            raise PaginationError(f"{call.operation}: the same page was received twice")
        return not count and previous is not None

    def _next(self, request: Request, call: Call, count: int) -> Request | None:
        if count < (self._limit or 1):
            return None
        return _with_query(request, self._param, request.query[self._param] + self._step(count))

    def _count(self, call: Call) -> int:
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

    @abstractmethod
    def _step(self, count: int) -> int:
        """Return the difference between the numbers of this page and the next."""


class PagePaginator(_NumberPaginator):
    """A query entry has the number of the page."""

    def _step(self, count: int) -> int:
        return 1


class OffsetPaginator(_NumberPaginator):
    """A query entry has the number of items to skip."""

    def _step(self, count: int) -> int:
        return count


_PAGINATORS: dict[str, type[Paginator]] = {
    "link": LinkPaginator,
    "next": NextUrlPaginator,
    "page": PagePaginator,
    "offset": OffsetPaginator,
    "cursor": CursorPaginator,
}


def make_paginator(
    settings: Mapping[str, Any], errors: ErrorCollector, path: str
) -> Paginator | None:
    """Return the paginator for a `paginate` object; None if there are errors in it."""
    style = _PAGINATORS[settings["type"]]
    if issubclass(style, _BodyPaginator) and "path" not in settings:
        errors.add(join_path(path, "path"), f"is needed for type '{settings['type']}'")
    for key in ("path", "items"):
        try:
            parse_path(settings.get(key, "$"))
        except ValueError as error:
            errors.add(join_path(path, key), str(error))
    if errors.has_error(path):
        return None
    return style({**default_values(PAGINATE), **PAGINATE_STYLES[settings["type"]], **settings})


def _with_query(request: Request, name: str, value: Any) -> Request:
    following = request.copy()
    following.query[name] = value
    return following


def _redirected(request: Request, url: str) -> Request | None:
    return request.redirected_to(resolve_location(request.full_url, url)) if url else None


def _refuse_repeated(request: Request, seen: set[str]) -> None:
    url = request.full_url
    if url in seen:
        raise PaginationError("the next page was already read")
    seen.add(url)


def _is_same(page: Any, previous: Any) -> bool:
    with translate_errors(RecursionError, lambda _: PaginationError("a page is nested too deeply")):
        return bool(page == previous)
