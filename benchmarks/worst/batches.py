"""Batches that are to cost as much as they can."""

from collections.abc import Iterator, Mapping
from typing import Any

from .request import Request, post, to_json

CALLS = 50


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for name, calls in _batches():
        yield post(f"batch: {name}", "batch", {"requests": calls})


def _batches() -> Iterator[tuple[str, list[Any]]]:
    yield "reads of all ids", _reads("todos", {"fields": ["id"]})
    yield "reads of all rows", _reads("todos", {})
    yield "reads of included rows", _reads("folders", {"include": "documents", "fields": ["id"]})
    search = {"desc": {"like": f"%{'a' * 40}%"}}
    yield "searches", _reads("todos/count", search, "where")
    yield "a search and counts", _reads("todos/count", search, "where")[:1] + _counts()[1:]
    yield "counts of many values", _counts()
    yield "lists of many values", _reads("documents", {"where": _any_of("title"), "limit": 1})
    yield "creations", [_write("todos", {"title": "x", "desc": "y" * 1800})] * CALLS
    yield "arrays", [_write("todos", [{"title": "x"}] * 19)] * CALLS
    yield "documents", [_write("documents", {"title": "x", "extra": {"a": "b" * 1800}})] * CALLS
    yield "changes of all", [_write("todos/update?where={}", {"desc": "z"})] * CALLS
    yield "references", _with_references()
    yield "references to long text", _with_long_text()
    yield "paths", [{"method": "GET", "path": "/todos/" + "%41" * 45}] * CALLS
    yield "unknown keys", [dict.fromkeys([f"k{n}" for n in range(9500)], 0)]
    yield "too many calls", [0] * 49_000
    yield "empty arrays", [_write("documents", {"title": "x", "extra": {"a": [[]] * 450}})] * CALLS


def _reads(path: str, value: Mapping[str, Any], name: str = "filter") -> list[Any]:
    return [{"method": "GET", "path": f"/{path}?{name}={to_json(value)}"}] * CALLS


def _counts() -> list[Any]:
    return _reads("todos/count", _any_of("desc"), "where")


def _any_of(name: str) -> dict[str, Any]:
    return {"or": [{name: f"v{number}"} for number in range(3)]}


def _write(path: str, body: Any) -> dict[str, Any]:
    return {"method": "POST", "path": f"/{path}", "body": body}


def _with_references() -> list[Any]:
    first = {**_write("todos", {"title": "x"}), "id": "a"}
    extra = {"x": [{"$result": "a.title"}] * 85}
    return [first] + [_write("documents", {"title": "x", "extra": extra})] * (CALLS - 1)


def _with_long_text() -> list[Any]:
    first = {**_write("todos", {"title": "x", "desc": "y" * 2000}), "id": "a"}
    return [first] + [_write("todos", {"title": "x", "desc": {"$result": "a.desc"}})] * (CALLS - 1)
