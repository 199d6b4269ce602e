"""Measure the memory of the workers during many requests, of which no two are alike."""

import argparse
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import load, stack
from .connector import remote
from .data import fill
from .kinds import CALL, GET, POST, ROWS, UNLIMITED, data_sources, filtered
from .load import Request
from .tables import Table, publish

# Seconds between two looks at whether a step is done; each has requests of its own.
SLICE = 5
STEPS = 10
# Mebibytes: the most that a worker should have.
AIM = 90
# All that a request may be answered with, but for errors of the service.
ANSWERS = 200, 204, 400, 401, 403, 404, 405, 422, 429, 503
FIELDS = "id", "title", "desc", "isComplete", "created", "ownerId"


def main() -> None:
    """Send the requests, and print the memory on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 requests; not kept")
    parser.add_argument("--requests", type=int, default=1_000_000, help="1,000,000 by default")
    options = parser.parse_args()
    total = 10_000 if options.quick else options.requests
    how = (
        f"MiB of each worker on SQLite, in its defaults but for throttles, after so many of"
        f" {total:,} requests. The aim is {AIM} for the resident set, and no growth in the last"
        " half. Private is what a worker does not share with the others"
    )
    publish("memory", how, _measure(total), keep=not options.quick)


def _measure(total: int) -> Iterator[Table]:
    table = Table("requests", ["a second", "worker 1", "private", "worker 2", "private"])
    with ExitStack() as running:
        folder = running.enter_context(stack.temporary_folder())
        url = stack.sqlite(folder, "ostiary")
        fill(url, ROWS, owners=100)
        settings = {**UNLIMITED, **data_sources(running.enter_context(remote()))}
        server = running.enter_context(stack.gunicorn("wsgi:app", url, folder, settings))
        # Both workers have begun when a run is over.
        load.run(server.port, [GET], 1)
        table.rows.append(["0", None, *_memory(server.pid)])
        answered = 0
        for step in range(1, STEPS + 1):
            rates = []
            while not rates or answered < total * step // STEPS:
                found = load.run(server.port, mixture(), SLICE)
                answered += found.answered
                rates.append(found.rate)
            table.rows.append(
                [f"{answered:,}", round(sum(rates) / len(rates)), *_memory(server.pid)]
            )
            print(*table.rows[-1], flush=True)
    yield table


def _memory(pid: int) -> list[float]:
    """Return the resident set of each child of a process, and what is private of it, in MiB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [size for child in children for size in _sizes(child)]


def _sizes(pid: str) -> tuple[float, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {
        name: int(rest.split()[0]) / 1024 for name, _, rest in (x.partition(":") for x in lines)
    }
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return round(sizes["Rss"], 1), round(private, 1)


def mixture() -> list[Request]:
    """Return requests of all kinds, of shapes and with values at random."""
    lists = [_request(filtered("/api/todos", **_filter())) for _ in range(300)]
    counts = [_request(f"/api/todos/count?where[title]={letter}{{id}}") for letter in "abcdefghij"]
    changes = [
        _request("/api/todos", "POST", {"title": "{id}" * random.randint(1, 20)}) for _ in range(30)
    ]
    changes += [_request("/api/todos/{id}", "PATCH", {"desc": "{id}"}) for _ in range(10)]
    new = str(random.getrandbits(40))
    wrong = [
        _request(f"/api/{new}{{id}}"),
        _request("/api/todos?filter=[{id}"),
        _request(f"/api/todos?access_token={new}{{id}}", token=False),
        _request("/api/todos", "POST", {"title": 5, f"x{new}": "{id}"}),
        _request("/api/todos/9{id}00000", "DELETE"),
        _request(f"/{new}{{id}}.php", token=False),
    ]
    accounts = [
        _request("/api/users/{id}"),
        _request("/api/users/{id}/accessTokens"),
        _request("/api/users", "POST", {"email": "{id}@example.com", "password": "short"}),
        _request("/api/users/reset", "POST", {"email": "user{id}@example.com"}, token=False),
        # The only ones that compute a hash.
        _request(
            "/api/users/login",
            "POST",
            {"email": f"{new}{{id}}@x.org", "password": "y"},
            token=False,
        ),
        _request("/api/openapi.json", token=False),
    ]
    return [
        *lists,
        *counts,
        *changes,
        *wrong * 4,
        *accounts,
        *[GET, replace(CALL, statuses=ANSWERS)] * 40,
        *[POST] * 10,
    ]


def _request(
    path: str, method: str = "GET", body: dict[str, Any] | None = None, token: bool = True
) -> Request:
    return Request(path, method, path, 1, ROWS, body, with_token=token, statuses=ANSWERS)


def _filter() -> dict[str, Any]:
    """Return a filter of a shape at random."""
    chosen = random.sample(_operands(), random.randint(1, 3))
    where = random.choice([{"and": chosen}, {"or": chosen}, chosen[0]])
    order = [f"{field} {random.choice(['ASC', 'DESC'])}" for field in _some_fields()]
    bounds = {"limit": random.randint(1, 20), "skip": random.randint(0, 5)}
    return {"where": where, "order": order, "fields": _some_fields(), **bounds}


def _operands() -> list[dict[str, Any]]:
    """Return conditions on to-dos, with values that no other request has."""
    new = f"{random.getrandbits(40)}-{{id}}"
    return [
        {"title": f"To-do {new}"},
        {"title": {"neq": new}},
        {"title": {"like": f"%{new}%"}},
        {"title": {"nilike": f"{new}_"}},
        {"title": {"regexp": f"^{new}[0-9]+$"}},
        {"title": {"inq": [new, f"a{new}", "c"]}},
        {"desc": None},
        {"desc": {"nin": [new]}},
        {"isComplete": True},
        {"isComplete": {"neq": True}},
        {"id": {"gt": random.getrandbits(31)}},
        {"id": {"between": [1, random.getrandbits(20)]}},
        {"created": {"lt": f"2027-01-02T03:04:{random.randint(10, 59)}Z"}},
        {f"no{new}": 1},
    ]


def _some_fields() -> list[str]:
    return random.sample(FIELDS, random.randint(1, len(FIELDS)))


if __name__ == "__main__":
    main()
