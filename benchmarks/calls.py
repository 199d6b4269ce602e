"""Count what one request does: function calls, and statements and round trips on PostgreSQL."""

import argparse
import importlib
import io
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from statistics import median_low
from typing import Any

from tests.support.postgres_proxy import Traffic, counted

from . import stack
from .data import fill
from .kinds import (
    COUNT,
    COUNTED_LIST,
    DELETE,
    GET,
    LIST,
    PATCH,
    POST,
    PUT,
    RELATED,
)
from .load import Request
from .peers import APPLICATIONS
from .tables import Table, publish

# Enough for every cache to be filled; the driver prepares a statement at its sixth execution.
WARM_UP, COUNTED = 20, 11
# Ostiary with sliding expiry: most requests, and the one that prolongs its token. And with all that
# logs users in, and personal tokens: no request pays for what it does not use.
VARIANTS = {
    "Ostiary, sliding": {"APP_TOKEN_SLIDING": "true"},
    "Ostiary, prolonging": {"APP_TOKEN_SLIDING": "true", "APP_TOKEN_TOUCH_INTERVAL": "0"},
    "Ostiary, every login": {
        "APP_SECOND_FACTOR": "optional",
        "APP_FACTOR_KEYS": json.dumps(["a" * 43 + "="]),
        "APP_PASSKEYS": "{}",
        "APP_PUBLIC_URL": "http://localhost:3000",
        "APP_PERSONAL_TOKENS": "{}",
        "APP_EMAIL_LOGIN": "true",
        "APP_LOGIN_CODE_KEYS": json.dumps(["k" * 32]),
    },
}

# Requests of which only Ostiary's are counted.
OTHERS = LIST, COUNTED_LIST, COUNT, RELATED, PATCH, PUT, DELETE
COLUMNS = "calls", "in Python", "statements", "round trips"


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same; not kept")
    options = parser.parse_args()
    if not stack.has_postgresql():
        sys.exit("PostgreSQL's initdb and pg_ctl are not on this machine.")
    how = f"Medians of {COUNTED} requests after {WARM_UP} others"
    publish("calls", how, _tables(), keep=not options.quick)


def _tables() -> Iterator[Table]:
    with stack.temporary_folder() as folder, stack.postgresql_server(folder):
        url = stack.postgresql(folder, "ostiary")
        fill(url, rows=100, owners=1)
        environment = stack.default_environment(url, folder)
        applications = {name: (target, {}) for name, target in APPLICATIONS.items()}
        applications |= {name: ("wsgi:app", settings) for name, settings in VARIANTS.items()}
        for request in GET, POST:
            table = Table(request.name, COLUMNS)
            for name, (target, settings) in applications.items():
                counts = _in_own_process(target, request, {**environment, **settings})
                table.rows.append([name, *astuple(counts)])
            yield table
        others = Table("Ostiary", COLUMNS)
        for request in OTHERS:
            counts = _in_own_process("wsgi:app", request, environment)
            others.rows.append([request.name, *astuple(counts)])
        yield others


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
        # What is deleted is another row each time.
        step = 1 if request.method == "DELETE" else 0
        rows = [request.first + step * number for number in range(WARM_UP + COUNTED)]
        for row in rows[:WARM_UP]:
            respond(app, environ(request, row))
        each = [_count_one(app, environ(request, row), traffic) for row in rows[WARM_UP:]]
    return Counts(*map(median_low, zip(*each, strict=True)))


def _count_one(
    app: Callable[..., Any], prepared: dict[str, Any], traffic: Traffic
) -> tuple[int, ...]:
    events = Counter[str]()
    traffic.messages.clear()

    def profile(_frame: object, event: str, _argument: object) -> None:
        events[event] += 1

    sys.setprofile(profile)
    respond(app, prepared)
    sys.setprofile(None)
    calls = events["call"] + events["c_call"]
    return calls, events["call"], traffic.statements, traffic.round_trips


def environ(request: Request, row: int) -> dict[str, Any]:
    """Return a request about a row, as a WSGI server hands it over."""
    head, _, body = request.message(row).partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    _, target, _ = line.split()
    path, _, query = target.partition("?")
    fields = {
        f"HTTP_{name.upper().replace('-', '_')}": value
        for name, _, value in (header.partition(": ") for header in headers)
    }
    sizes = {name: fields.pop(f"HTTP_{name}", "") for name in ("CONTENT_TYPE", "CONTENT_LENGTH")}
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "RAW_URI": target,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "3000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        **fields,
        **(sizes if body else {}),
    }


def respond(app: Callable[..., Any], prepared: dict[str, Any]) -> Mapping[str, str]:
    """Let the application answer, to the last byte; it must be with 200. Return the headers."""
    begun: list[tuple[str, dict[str, str]]] = []
    body = app(prepared, lambda status, headers, _error=None: begun.append((status, dict(headers))))
    answer = b"".join(body)
    body.close()
    [(status, headers)] = begun
    if not status.startswith("200"):
        raise RuntimeError(f"{prepared['PATH_INFO']}: {status} {answer.decode()}")
    return headers


if __name__ == "__main__":
    main()
