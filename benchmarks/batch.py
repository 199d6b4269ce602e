"""Compare a batch with the requests that it replaces: CPU time, and function calls, of each row."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from flask import Flask

from . import stack
from .tables import Table, publish
from .worst.measuring import make_environ, respond
from .worst.request import Request, post
from .worst.service import serving

CALLS, ROUNDS = 50, 20
TODO = {"title": "Water the plants", "desc": "Those in the hall, too."}
ALONE = [post("requests", "todos", TODO)] * CALLS
CREATION = {"method": "POST", "path": "/todos", "body": TODO}
TOGETHER = [post("a batch", "batch", {"requests": [CREATION] * CALLS})]


def main() -> None:
    """Print what a created row costs by requests of its own, and in a batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same; not kept")
    options = parser.parse_args()
    how = (
        f"{CALLS} rows, by the WSGI application alone, without a server; CPU time is that of the"
        f" quickest of {ROUNDS} rounds"
    )
    publish("batch", how, _tables(), keep=not options.quick)


def _tables() -> Iterator[Table]:
    with (
        stack.temporary_folder() as folder,
        serving(folder, stack.sqlite(folder, "batch"), CALLS) as (app, token),
    ):
        table = Table("a created row, SQLite", ["µs", "calls"])
        for name, requests in (("50 requests", ALONE), ("a batch", TOGETHER)):
            seconds = min(_seconds(app, requests, token) for _ in range(ROUNDS))
            calls = round(count(app, requests, token) / CALLS)
            table.rows.append([name, round(seconds * 1e6 / CALLS, 1), calls])
        yield table


def _seconds(app: Flask, requests: list[Request], token: str) -> float:
    """Return the CPU time of some requests."""
    prepared = [make_environ(request, token) for request in requests]
    started = time.thread_time()
    for environ in prepared:
        _answer(app, environ)
    return time.thread_time() - started


def count(app: Flask, requests: list[Request], token: str) -> int:
    """Return the function calls of some requests, which were sent before."""
    prepared, events = [make_environ(request, token) for request in requests], Counter[str]()

    def profile(_frame: object, event: str, _argument: object) -> None:
        events[event] += 1

    sys.setprofile(profile)
    for environ in prepared:
        _answer(app, environ)
    sys.setprofile(None)
    return events["call"] + events["c_call"]


def _answer(app: Flask, environ: dict[str, Any]) -> None:
    if (status := respond(app, environ)) != "200":
        raise RuntimeError(f"{environ['PATH_INFO']}: {status}")


if __name__ == "__main__":
    main()
