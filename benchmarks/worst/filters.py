"""Filters that are to cost as much as they can."""

from collections.abc import Iterator
from typing import Any

from .models import JSON
from .request import Request, get, to_json


def _nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"and": [inner]}
    return inner


LONG = "a b" * 33
TODO_FILTERS: dict[str, Any] = {
    "whole page": {"limit": 180},
    "whole page, all by text": {},
    "page of short rows": {"fields": ["id", "title"]},
    "skip to the last": {"skip": 999},
    "order of a long text": {"order": ["desc", "title"], "limit": 1},
    "order of 20": {"order": ["title", "desc", "created", "isComplete"] * 5, "limit": 1},
    "inq of 1000 ids": {"where": {"id": {"inq": list(range(1000))}}, "fields": ["id"]},
    "inq of 1000 texts": {"where": {"title": {"inq": [f"{n:09}" for n in range(1000)]}}},
    "nin of 1000 texts": {"where": {"desc": {"nin": [f"{n:09}" for n in range(1000)]}}, "limit": 1},
    "like, 5 literal": {"where": {"and": [{"desc": {"like": f"%{LONG}%"}}] * 5}},
    "nlike, 5 literal": {"where": {"and": [{"desc": {"nlike": f"%{LONG}x%"}}] * 5}, "limit": 1},
    "like of 20 searched": {"where": {"desc": {"like": "%" + "a_" * 5 + "b%" + "_" * 7 + "c"}}},
    "like of % and _": {"where": {"desc": {"like": "%a%b%a%b%a%b%a%b%c"}}},
    "like of a late end": {"where": {"desc": {"like": "%" + "_" * 18 + "c"}}},
    "ilike, 5 literal": {"where": {"and": [{"desc": {"ilike": f"%{LONG}x%"}}] * 5}},
    "ilike of 20 searched": {"where": {"desc": {"ilike": "%a_a_a_a_a_a_a_a_a_c"}}},
    "regexp, 5 classes": {"where": {"and": [{"desc": {"regexp": "[ab][ab]c"}}] * 5}},
    "regexp of members": {"where": {"desc": {"regexp": "[acegikmoqsuwy0]c"}}},
    "regexp of members, repeated": {"where": {"desc": {"regexp": "[" + "ab" * 40 + "]x"}}},
    "regexp of classes, any case": {"where": {"desc": {"regexp": "/[^A-Z][a-z]9/i"}}},
    "regexp of wilds": {"where": {"desc": {"regexp": "a.*b.*a.*b.*a.*b.*c"}}},
    "regexp, any case, or": {"where": {"or": [{"desc": {"regexp": "/[a-c]bc/i"}}] * 5}},
    "like, 5 or": {"where": {"or": [{"desc": {"like": "%a c%"}}] * 5}},
    "regexp, alternatives": {"where": {"desc": {"regexp": "|".join(["abc"] * 5)}}},
    "regexp, any case": {"where": {"and": [{"desc": {"regexp": "/[a-z]bc/i"}}] * 5}},
    "include of owners": {"include": "owner", "fields": ["id", "title", "ownerId"]},
    "or of 249": {"where": {"or": [{"desc": f"x{n}"} for n in range(249)]}, "limit": 1},
    "or of 124 times": {"where": {"or": [{"created": {"gt": f"3{n:03}"}} for n in range(124)]}},
    "and of 124 neq": {"where": {"and": [{"desc": {"neq": f"x{n}"}} for n in range(124)]}},
    "brackets of 11": {"where": _nested(5, {"title": "a"})},
}
IN_PATH = "extra.deep.deep.deep.city"
DOCUMENT_FILTERS: dict[str, Any] = {
    "whole page": {},
    "page without JSON": {"fields": ["id", "title"]},
    "a path": {"where": {IN_PATH: "b"}},
    "20 paths": {"where": {"or": [{IN_PATH: f"b{n}"} for n in range(20)]}},
    "20 other paths": {"where": {"or": [{f"extra.n{n}": 2} for n in range(20)]}},
    "20 last names": {"where": {"or": [{f"extra.n{JSON // 12 - n}": 2} for n in range(1, 21)]}},
    "20 missing names": {"where": {"or": [{f"extra.m{n}.x.y.z.w": 2} for n in range(1, 21)]}},
    "20 paths inq": {"where": {IN_PATH: {"inq": [f"b{n}" for n in range(20)]}}},
    "a path like": {"where": {IN_PATH: {"like": "%a_c%"}}},
    "2 items": {"where": {"or": [{"tags": f"x{n}"} for n in range(2)]}},
    "inq of 20 items": {"where": {"tags": {"inq": [f"x{n}" for n in range(20)]}}},
    "an item": {"where": {"tags": "x"}},
    "order of 3 paths": {"order": [f"extra.n{n}" for n in range(3)], "fields": ["id"], "limit": 1},
    "near": {"where": {"place": {"near": "10,10"}}, "limit": 10},
    "near within": {"where": {"place": {"near": "10,10", "maxDistance": 1}}, "fields": ["id"]},
    "include of a folder": {"include": "folder", "fields": ["id", "folderId"]},
    "embedded": {"fields": ["id", "_parts"]},
}


def _wide_filters() -> dict[str, Any]:
    """Return filters that are as long as a request line allows."""
    return {
        "unknown properties": {"where": {f"k{n}": 1 for n in range(240)}},
        "one text": {"where": {"title": "x" * 15_000}},
        "one wide text": {"where": {"title": "\u00e9" * 1900}},
        "list of lists": {"where": {"title": {"inq": [[] for _ in range(900)]}}},
        "empty objects": {"where": {"or": [{} for _ in range(240)]}},
        "many fields": {"fields": ["title", "desc"] * 700},
        "many includes": {"include": ["owner"] * 990},
        "a number of 4300 digits": {"where": {"id": int("9" * 4300)}},
        "numbers of 15 digits": {"where": {"id": {"inq": [10**15 + n for n in range(900)]}}},
    }


def requests() -> Iterator[Request]:
    """Yield the requests."""
    filters = {"todos": {**TODO_FILTERS, **_wide_filters()}, "documents": DOCUMENT_FILTERS}
    for model, chosen in filters.items():
        for name, filter_ in chosen.items():
            yield get(f"{model}: {name}", f"/api/{model}?filter={to_json(filter_)}")
