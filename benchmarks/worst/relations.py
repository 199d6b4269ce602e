"""Includes, and lists of related rows, that are to cost as much as they can."""

from collections.abc import Iterator
from typing import Any

from .models import REPORT_KEYS, SHELF_KEYS
from .request import CALLER, Request, get, post, to_json

KEYS = [f"items{number}" for number in range(SHELF_KEYS)]
FIRST = {"relation": "items", "scope": {"limit": 1, "fields": ["id"]}}
REPORTS = [f"reports{number}" for number in range(REPORT_KEYS)]
IN_ITEMS = {"tags": {"inq": [f"x{number}" for number in range(20)]}}
IN_PATHS = {"or": [{f"extra.m{number}": 2} for number in range(20)]}


FEW = {"limit": 9, "fields": ["id"]}
# What is included below the same ten tags, which every shelf has.
MARKED = {"relation": "marked", "scope": {"limit": 10, "fields": ["id"]}}


def _all(names: list[str], **scope: Any) -> list[dict[str, Any]]:
    return [{"relation": name, "scope": scope} for name in names]


def _below_tags(included: Any, **scope: Any) -> dict[str, Any]:
    return {"relation": "tags", "scope": {"include": included, **scope}}


FILTERS: dict[str, dict[str, Any]] = {
    "10,000 items": {"include": "items", "fields": ["id"]},
    "5,000 items": {"include": {"relation": "items", "scope": {"limit": 5}}},
    "first items": {"include": FIRST, "fields": ["id"]},
    "first of 10 kinds": {"include": _all(KEYS, limit=1, fields=["id"]), "fields": ["id"]},
    "none of 10 kinds": {"include": _all(KEYS, where={"name": "-"}), "fields": ["id"]},
    "sorted, 10 kinds": {"include": _all(KEYS, where={"name": "-"}, order=["name"] * 20)},
    "like in 5 kinds": {"include": _all(KEYS[:5], where={"name": {"like": "%a c%"}})},
    "numbers in 10 kinds": {
        "include": _all(KEYS, where={"id": {"inq": list(range(99))}}),
        "fields": ["id"],
    },
    "tags": {"include": "tags", "fields": ["id"]},
    "first tags": {"include": {"relation": "tags", "scope": {"limit": 1}}, "fields": ["id"]},
    "marked below tags": {"include": _below_tags(MARKED), "limit": 900},
    "marked below tags, 90 shelves": {
        "include": _below_tags(MARKED, fields=["id"]),
        "fields": ["id"],
        "limit": 90,
    },
    "items with shelves": {
        "include": {"relation": "items", "scope": {"limit": 2, "include": "shelf1"}}
    },
    "tags with shelves": {"include": {"relation": "tags", "scope": {"include": "shelves"}}},
    "items with shelves with items": {
        "include": {
            "relation": "items",
            "scope": {
                "fields": ["id"],
                "include": {
                    "relation": "shelf1",
                    "scope": {"fields": ["id"], "include": {"relation": "items1", "scope": FEW}},
                },
            },
        },
        "fields": ["id"],
        "limit": 90,
    },
    "items with shelves with tags": {
        "include": {
            "relation": "items",
            "scope": {"limit": 2, "include": {"relation": "shelf1", "scope": {"include": "tags"}}},
        },
        "limit": 100,
    },
}
FOLDERS: dict[str, dict[str, Any]] = {
    "arrays": {"include": _all(REPORTS, where=IN_ITEMS, fields=["id"])},
    "an array": {"include": _all(REPORTS[:1], where=IN_ITEMS, fields=["id"])},
    "paths": {"include": _all(REPORTS, where=IN_PATHS, fields=["id"])},
    "order of paths": {
        "include": _all(REPORTS, order=["extra.n0", "extra.n1"], limit=1, fields=["id"])
    },
    "page of JSON": {"include": _all(REPORTS, limit=10)},
}


# Conditions that no related row meets, so that all are compared, of relations to many rows.
NAMELESS = {"name": "-"}
LIKE = {"name": {"like": "%a c%"}}
BELOW_TAGS = {"tags": {"marked": NAMELESS}}
CONDITIONS: dict[str, dict[str, Any]] = {
    "items": {"items": NAMELESS},
    "items of 4 kinds": {"or": [{name: NAMELESS} for name in KEYS[:4]]},
    "like in items of 4 kinds": {"or": [{name: LIKE} for name in KEYS[:4]]},
    "every item of 4 kinds": {"and": [{name: {"every": LIKE}} for name in KEYS[:4]]},
    "no item of 4 kinds": {"and": [{name: {"none": NAMELESS}} for name in KEYS[:4]]},
    "marked below tags, twice": {"or": [BELOW_TAGS, BELOW_TAGS]},
    "none marked below every tag": {"tags": {"every": {"marked": {"none": NAMELESS}}}},
    "every one marked below no tag": {"tags": {"none": {"marked": {"every": LIKE}}}},
    "items of shelves of items, twice": {
        "or": [{name: {"shelf1": {"name": {"like": "%a c%"}}}} for name in KEYS[:2]]
    },
    "readers": {"or": [{"readers": NAMELESS}, {"readers": {"every": LIKE}}]},
}
ORDERS = ["shelf1.name", "shelf1.id DESC", "tag.name", "tag.id"]


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for name, where in CONDITIONS.items():
        filter_ = to_json({"where": where, "fields": ["id"], "limit": 1})
        yield get(f"condition: {name}", f"/api/shelves?filter={filter_}")
        yield get(f"condition: count of {name}", f"/api/shelves/count?where={to_json(where)}")
    counted = to_json({"labels": {"text": "-"}})
    yield get("condition: labels, by arrays of ids", f"/api/documents/count?where={counted}")
    yield get("condition: orders", f"/api/items?filter={to_json({'order': ORDERS, 'limit': 1})}")
    scope = {"where": {"or": [{"shelf1": LIKE}, {"tag": LIKE}]}, "order": ORDERS[1:3]}
    scoped = to_json({"include": {"relation": "items", "scope": scope}, "fields": ["id"]})
    yield get("condition: in the scope of an include", f"/api/shelves?filter={scoped}")
    for name, filter_ in FILTERS.items():
        yield get(f"include: {name}", f"/api/shelves?filter={to_json(filter_)}")
    for name, filter_ in FOLDERS.items():
        yield get(f"include of reports: {name}", f"/api/folders?filter={to_json(filter_)}")
    counted = to_json({"include": {"relation": "items", "scope": {"limit": 9}}, "limit": 999})
    yield get("include: counted", f"/api/shelves?count=true&filter={counted}")
    yield get("related: shelves of a tag", "/api/tags/1/shelves?count=true")
    yield get("related: reports", f"/api/folders/1/reports0?filter={to_json({'limit': 1})}")
    included = to_json({"include": ["items", "tags"], "limit": 500, "fields": ["id"]})
    yield get("related: shelves of a tag, included", f"/api/tags/1/shelves?filter={included}")
    for relation in ("items", "tags", "readers"):
        rows = [{"name": "x"}] * 1000
        yield post(f"related: 1000 {relation}", f"shelves/1/{relation}", rows)
    yield Request("related: PUT of a link", "PUT", "/api/tags/1/shelves/rel/1", headers=CALLER)
    yield Request("related: DELETE of items", "DELETE", "/api/shelves/2/items", headers=CALLER)
