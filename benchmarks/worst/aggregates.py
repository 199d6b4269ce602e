"""Aggregates that are to cost as much as they can."""

from collections.abc import Iterator, Mapping
from typing import Any

from .request import Request, get, to_json


def _ten(word: str, *names: str) -> dict[str, Any]:
    """Return as many functions as an aggregate has, of these properties in turn."""
    return {f"f{number}": {word: names[number % len(names)]} for number in range(10)}


LONGEST = "f" * 64
TODO_AGGREGATES: Mapping[str, Any] = {
    "a group for each row": {"groupBy": "id"},
    "five groups": {"groupBy": ["id", "title", "isComplete", "created", "ownerId"]},
    "groups of long texts": {"groupBy": ["desc", "id"], "limit": 150},
    "groups of long texts, too many": {"groupBy": ["desc", "id"]},
    "ten longest texts": {"groupBy": "id", "aggregate": _ten("max", "desc"), "limit": 18},
    "ten longest texts, too many": {"groupBy": "id", "aggregate": _ten("max", "desc")},
    "ten counts of different texts": {"aggregate": _ten("countDistinct", "desc", "title")},
    "ten times of each row": {"groupBy": "id", "aggregate": _ten("max", "created")},
    "weeks": {"groupBy": [{"created": "week"}], "aggregate": _ten("min", "created", "title")},
    "a having of 240": {
        "groupBy": "id",
        "aggregate": {"n": {"count": "*"}},
        "having": {"or": [{"n": number} for number in range(2, 120)]},
    },
    "a having of patterns": {
        "groupBy": "id",
        "aggregate": {"t": {"max": "desc"}},
        "having": {"or": [{"t": {"like": "%a c%"}}] * 5},
    },
    "an order of 20": {
        "groupBy": "id",
        "aggregate": _ten("max", "desc"),
        "order": [f"f{number}" for number in range(10)],
        "limit": 1,
    },
    "longest names": {
        "groupBy": "id",
        "aggregate": {f"{LONGEST[1:]}{number}": {"count": "*"} for number in range(10)},
    },
    "names that repeat": {"groupBy": ["id"] * 5},
    "a thousand properties": {"groupBy": ["id"] * 1000},
}
DOCUMENT_AGGREGATES: Mapping[str, Any] = {
    "sums of decimals": {"groupBy": "id", "aggregate": _ten("sum", "price")},
    "averages of decimals": {"groupBy": "id", "aggregate": _ten("avg", "price")},
    "averages by their order": {
        "groupBy": "id",
        "aggregate": _ten("avg", "price", "rating"),
        "having": {"f0": {"neq": "1.5"}},
        "order": ["f0 DESC", "f1", "f2", "f3"],
    },
    "counts of objects": {"groupBy": "code", "aggregate": _ten("count", "extra", "tags", "place")},
}


def requests() -> Iterator[Request]:
    """Yield the requests."""
    aggregates = {"todos": TODO_AGGREGATES, "documents": DOCUMENT_AGGREGATES}
    for model, chosen in aggregates.items():
        for name, aggregate in chosen.items():
            path = f"/api/{model}/aggregate?filter={to_json(aggregate)}"
            yield get(f"aggregates of {model}: {name}", path)
