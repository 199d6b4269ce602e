"""Walking through the pages of a list: link, next, page, offset, cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from requests.utils import parse_header_links

from app.connector.errors import PaginationError
from app.connector.http.call import Call
from app.connector.problems import ErrorCollector, join_path, type_name
from app.connector.request.model import Request
from app.connector.request.url import resolve_location

from .response_path import ResponsePath, parse_path

_PATH_NEEDED = ("next", "cursor")
_PARAMS = {"page": "page", "offset": "offset", "cursor": "cursor"}


def check_pagination(settings: Mapping[str, Any], errors: ErrorCollector, path: str) -> None:
    """Note what is wrong with a `paginate` object beyond the kinds of its values."""
    if settings["type"] in _PATH_NEEDED and "path" not in settings:
        errors.add(join_path(path, "path"), f"is needed for type '{settings['type']}'")
    for key in ("path", "items"):
        try:
            parse_path(settings.get(key, "$"))
        except ValueError as error:
            errors.add(join_path(path, key), str(error))


class Pagination:
    """How to come from one page to the next, and when to stop."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._kind: str = settings["type"]
        self._param: str = settings.get("param", _PARAMS.get(self._kind, ""))
        self._path = ResponsePath(settings.get("path", "$"), "first")
        self._items = ResponsePath(settings["items"]) if "items" in settings else None
        self._limit: int | None = settings.get("limit")
        self._limit_param: str = settings.get("limitParam", "limit")
        self._start: int = settings.get("start", 1 if self._kind == "page" else 0)
        self._max_pages: int = settings.get("maxPages", 1000)

    def walk(self, request: Request, send: Callable[[Request], Call]) -> Iterator[Call]:
        """Give the call of every page; a repeated page or too many pages are an error."""
        seen: set[str] = set()
        previous: Any = None
        position = self._start
        following: Request | None = self._first(request)
        for _ in range(self._max_pages):
            if following is None:
                return
            self._refuse_repeated(following, seen)
            call = send(following.copy())
            count = self._count(call)
            if self._is_counted and count and _is_same(call.result, previous):
                raise PaginationError(f"{call.operation}: the remote repeats the same page")
            if self._is_counted and not count and position > self._start:
                return
            yield call
            previous = call.result
            position += 1 if self._kind == "page" else count
            following = self._next(following, call, position, count)
        if following is not None:
            raise PaginationError(f"there are more than {self._max_pages} pages")

    @property
    def _is_counted(self) -> bool:
        return self._kind in ("page", "offset")

    def _first(self, request: Request) -> Request:
        first = request.copy()
        if self._is_counted:
            first.query[self._param] = self._start
        if self._limit is not None:
            first.query[self._limit_param] = self._limit
        return first

    def _next(self, request: Request, call: Call, position: int, count: int) -> Request | None:
        if self._is_counted:
            return self._at(request, position) if self._goes_on(count) else None
        if call.response is None:
            return None
        if self._kind == "link":
            return _redirected(request, _link(call.response.headers.get("Link", "")))
        target = self._path.select(call.response.body)
        if target in (None, "", False):
            return None
        if not isinstance(target, str | int | float):
            raise PaginationError(f"the next page is named by {type_name(target)}, not by a text")
        return (
            _redirected(request, str(target)) if self._kind == "next" else self._at(request, target)
        )

    def _goes_on(self, count: int) -> bool:
        return count >= self._limit if self._limit else count > 0

    def _at(self, request: Request, position: Any) -> Request:
        following = request.copy()
        following.query[self._param] = position
        return following

    def _count(self, call: Call) -> int:
        found = call.result
        if self._items is not None and call.response is not None:
            found = self._items.select(call.response.body)
        if isinstance(found, list):
            return len(found)
        if self._is_counted and found is not None:
            raise PaginationError(
                f"{call.operation}: a page must be a list, got {type_name(found)}; "
                "say where the list is with paginate.items"
            )
        return 0

    @staticmethod
    def _refuse_repeated(request: Request, seen: set[str]) -> None:
        if request.full_url in seen:
            raise PaginationError("the remote names the same next page again")
        seen.add(request.full_url)


def _is_same(page: Any, previous: Any) -> bool:
    try:
        return bool(page == previous)
    except RecursionError:
        raise PaginationError("a page is nested too deeply") from None


def _link(header: str) -> str:
    for link in parse_header_links(header):
        if link.get("rel") == "next":
            return str(link["url"])
    return ""


def _redirected(request: Request, url: str) -> Request | None:
    return request.redirected_to(resolve_location(request.full_url, url)) if url else None
