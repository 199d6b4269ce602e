"""The requests that are measured, about the rows that data.py makes with one owner."""

import json
from typing import Any
from urllib.parse import quote

from .data import EMAIL, PASSWORD
from .load import REFUSED, Request

ROWS = 10_000
# For requests that are counted by email or address; nothing else about them changes.
UNLIMITED = {"APP_THROTTLE_ENABLED": "false"}


def filtered(path: str, **filter_: Any) -> str:
    """Return a path with a filter, in which `{id}` stands for a row."""
    text = quote(json.dumps(filter_, separators=(",", ":")))
    return f"{path}?filter={text}".replace(quote("{id}"), "{id}")


GET = Request("GET /todos/{id}", "GET", "/api/todos/{id}", 1, ROWS)
OPEN = filtered("/api/todos", where={"isComplete": False}, limit=20)
LIST = Request("GET /todos?filter=", "GET", OPEN, 1, ROWS)
HUNDRED = filtered("/api/todos", where={"isComplete": False}, limit=100)
LONG_LIST = Request("GET /todos?filter=, 100 rows", "GET", HUNDRED, 1, ROWS)
# Some frameworks answer 201.
POST = Request(
    "POST /todos", "POST", "/api/todos", 0, 0, {"title": "Buy milk"}, statuses=(200, 201)
)
COUNTED_LIST = Request(f"{LIST.name}&count=true", "GET", f"{OPEN}&count=true", 1, ROWS)
LONG_COUNTED_LIST = Request(f"{LONG_LIST.name}&count=true", "GET", f"{HUNDRED}&count=true", 1, ROWS)
WITH_OWNERS = filtered("/api/todos", where={"isComplete": False}, limit=20, include="owner")
INCLUDE = Request("GET /todos?filter=, with owners", "GET", WITH_OWNERS, 1, ROWS)
COUNT = Request("GET /todos/count", "GET", "/api/todos/count", 1, ROWS)
OF_PARENT = filtered("/api/users/1/todos", where={"isComplete": False}, limit=20)
RELATED = Request("GET /users/1/todos?filter=", "GET", OF_PARENT, 1, ROWS)
CHANGE = {"title": "Buy bread", "isComplete": True}
PATCH = Request("PATCH /todos/{id}", "PATCH", "/api/todos/{id}", 1, ROWS, CHANGE)
# Somebody else's to-do, which nobody may be shown.
STRANGER = Request("GET /todos/1", "GET", "/api/todos/1", 0, 0)
# The rows are found by the lists as before.
RENAME = Request(
    "PATCH /todos/{id}, title", "PATCH", "/api/todos/{id}", 1, ROWS, {"title": "Buy {random}"}
)
PUT = Request("PUT /todos/{id}", "PUT", "/api/todos/{id}", 1, ROWS, CHANGE)
DELETE = Request("DELETE /todos/{id}", "DELETE", "/api/todos/{id}", 1, ROWS)
LOGIN = Request(
    "POST /users/login",
    "POST",
    "/api/users/login",
    0,
    0,
    {"email": EMAIL, "password": PASSWORD},
    with_token=False,
    # There are too many at once for the processor.
    statuses=(200, *REFUSED),
)
RESET = Request(
    "POST /users/reset",
    "POST",
    "/api/users/reset",
    0,
    0,
    {"email": EMAIL},
    with_token=False,
    # LoopBack 3 answers 204.
    statuses=(200, 204),
)
# Calls of a remote service, as remote() in connector.py answers them.
CALL = Request("GET /remote/fast", "GET", "/api/remote/fast", 0, 0)
SLOW_CALL = Request("GET /remote/slow", "GET", "/api/remote/slow", 0, 0, statuses=(200, *REFUSED))


def data_sources(base_url: str) -> dict[str, str]:
    """Return the settings of a public data source with a fast and a slow function."""
    operations = [
        {"template": {"method": "GET", "url": f"/{name}"}, "functions": {name: []}}
        for name in ("fast", "slow")
    ]
    source = {"connector": "rest", "baseURL": base_url, "public": True, "operations": operations}
    return {"APP_DATA_SOURCES": json.dumps({"remote": source})}
