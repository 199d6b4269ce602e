"""Count what one request does: function calls, and statements and round trips on PostgreSQL."""

import argparse
import importlib
import io
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from tests.postgres_proxy import Traffic, counted

from . import stack
from .data import fill, token
from .load import Request
from .peers import APPLICATIONS, GET, POST

# Enough for every cache to be filled; the driver prepares a statement at its sixth execution.
WARM_UP, COUNTED = 20, 11
# Ostiary with sliding expiry: most requests, and the one that prolongs its token.
SLIDING = {
    "Ostiary, sliding": {"APP_TOKEN_SLIDING": "true"},
    "Ostiary, prolonging": {"APP_TOKEN_SLIDING": "true", "APP_TOKEN_TOUCH_INTERVAL": "0"},
}


@dataclass(frozen=True)
class Counts:
    """What one request did."""

    # Calls of any function, and of those written in Python.
    calls: int
    python: int
    statements: int
    round_trips: int


def main() -> None:
    """Print the counts of each application, which has a process of its own."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    with stack.temporary_folder() as folder, stack.postgresql_server(folder):
        url = stack.postgresql(folder, "ostiary")
        fill(url, rows=100, owners=1)
        environment = stack.default_environment(url, folder)
        for request in GET, POST:
            print(f"\n{request.name:<26}{'calls':>8}{'in Python':>12}", end="")
            print(f"{'statements':>12}{'round trips':>13}")
            for name, target in APPLICATIONS.items():
                print(f"{name:<26}{_format(_in_own_process(target, request, environment))}")
            for name, settings in SLIDING.items():
                changed = {**environment, **settings}
                print(f"{name:<26}{_format(_in_own_process('wsgi:app', request, changed))}")


def _format(counts: Counts) -> str:
    return f"{counts.calls:>8}{counts.python:>12}{counts.statements:>12}{counts.round_trips:>13}"


def _in_own_process(target: str, request: Request, environment: Mapping[str, str]) -> Counts:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(count, (target, request, environment))


def count(target: str, request: Request, environment: Mapping[str, str]) -> Counts:
    """Import an application, and return the median counts of some equal requests."""
    os.environ.clear()
    os.environ.update(environment)
    with counted(environment["DATABASE_URL"]) as traffic:
        os.environ["DATABASE_URL"] = traffic.url
        module, _, name = target.partition(":")
        app = getattr(importlib.import_module(module), name)
        for _ in range(WARM_UP):
            _respond(app, _environ(request))
        each = [_count_one(app, request, traffic) for _ in range(COUNTED)]
    return Counts(*map(median_low, zip(*each, strict=True)))


def _count_one(app: Callable[..., Any], request: Request, traffic: Traffic) -> tuple[int, ...]:
    environ, events = _environ(request), Counter[str]()
    traffic.messages.clear()

    def profile(_frame: object, event: str, _argument: object) -> None:
        events[event] += 1

    sys.setprofile(profile)
    _respond(app, environ)
    sys.setprofile(None)
    calls = events["call"] + events["c_call"]
    return calls, events["call"], traffic.statements, traffic.round_trips


def _environ(request: Request) -> dict[str, Any]:
    """Return the request, about its first row, as a WSGI server hands it over."""
    body = json.dumps(request.body).encode() if request.body else b""
    path = request.path.replace("{id}", str(request.first))
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "RAW_URI": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "3000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_AUTHORIZATION": token(request.first),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        **({"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))} if body else {}),
    }


def _respond(app: Callable[..., Any], environ: dict[str, Any]) -> None:
    """Let the application answer, to the last byte; it must be with 200."""
    statuses: list[str] = []
    body = app(environ, lambda status, _headers, _error=None: statuses.append(status))
    answer = b"".join(body)
    body.close()
    if not statuses[0].startswith("200"):
        raise RuntimeError(f"{environ['PATH_INFO']}: {statuses[0]} {answer.decode()}")


if __name__ == "__main__":
    main()
