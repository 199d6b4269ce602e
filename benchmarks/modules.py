"""Print which modules of `app` a filtered list passes, and how often each is entered from another.

A module is entered where a function of another one calls a function of it; calls from the same
place, for each row of the list, count once. Generators that are resumed do not count.
"""

import importlib
import inspect
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from . import stack
from .calls import environ, respond
from .data import fill
from .kinds import filtered
from .load import Request

APP = f"{stack.ROOT / 'app'}{os.sep}"
# The package whose functions are the views: what comes before them is the same for all requests.
VIEWS = "rest.views."
PATH = filtered("/api/todos", where={"isComplete": False}, order="created DESC", limit=10)
LIST = Request("GET /todos?filter=", "GET", PATH, 1, 100)
# Statements are compiled in advance when they are executed for the second time.
TIMES = {"the first time": 0, "again": 5}


class Entry(NamedTuple):
    """A call of a function by one of another module, or by none of the app."""

    caller: str
    module: str
    function: str


def main() -> None:
    """Print the modules on each database, each in a process of its own."""
    for lines in stack.on_each_database(_lines):
        print(lines)


def _lines(place: stack.Place) -> Iterator[str]:
    url = place.create("modules")
    fill(url, rows=LIST.last, owners=1)
    environment = stack.default_environment(url, place.folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for title, modules, from_view in pool.apply(count, (environment,)):
            yield f"{place.title}, {title}: {_summary(modules)}"
            yield f"  from the view on: {_summary(from_view)}"
            for module, number in Counter(from_view).items():
                yield f"    {number}  {module}"


def _summary(modules: list[str]) -> str:
    different = len(set(modules))
    return f"{different} modules, entered again {len(modules) - different} times"


def count(environment: Mapping[str, str]) -> list[tuple[str, list[str], list[str]]]:
    """Return the modules that the list enters, each as often as it does, and those of the view."""
    os.environ.clear()
    os.environ.update(environment)
    app = importlib.import_module("wsgi").app
    counted = []
    for title, times in TIMES.items():
        for _ in range(times):
            respond(app, environ(LIST, LIST.first))
        entries = _traced(app)
        from_view = [entry.module for entry, is_inner in entries.items() if is_inner]
        counted.append((title, [entry.module for entry in entries], from_view))
    return counted


def _traced(app: Any) -> dict[Entry, bool]:
    """Return the entries of one request, and whether each is within the view."""
    entries: dict[Entry, bool] = {}
    prepared = environ(LIST, LIST.first)

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not _is_counted(frame):
            return
        callers = list(_callers(frame))
        module = _module(frame)
        if not callers or _module(callers[0]) != module:
            caller = f"{_module(callers[0])}.{callers[0].f_code.co_qualname}" if callers else ""
            is_inner = any(_module(outer).startswith(VIEWS) for outer in [frame, *callers])
            entries[Entry(caller, module, frame.f_code.co_qualname)] = is_inner

    sys.setprofile(profile)
    respond(app, prepared)
    sys.setprofile(None)
    return entries


def _is_counted(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(APP) and not code.co_flags & inspect.CO_GENERATOR


def _callers(frame: FrameType) -> Iterator[FrameType]:
    """Yield the functions of the app that a function is called from, the innermost first."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(APP):
            yield caller
        caller = caller.f_back


def _module(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename.removeprefix(APP)).with_suffix("")
    return ".".join(path.parts)


if __name__ == "__main__":
    main()
