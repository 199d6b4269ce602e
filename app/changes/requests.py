"""What a request for changes asks for: models, a filter for each, and where to begin."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from flask import request

from app.access.policy import authorize
from app.errors import InvalidFilter
from app.rest.collection import Collection
from app.rest.endpoint import served_endpoints
from app.rest.filters.tree import Filter
from app.rest.requests.bodies import read_body
from app.rest.requests.parameters import parse_parameter
from app.rest.views.changes import CHANGE_STREAM, EVENT_STREAM

from .errors import InvalidChangeStream
from .watched import watched_models

#: Maximum models of one stream.
MAX_MODELS = 20
#: Maximum seconds of a long poll.
MAX_WAIT = 60
# The methods that a caller must be allowed to call; only rows that both permit are shown.
METHODS = ("find", CHANGE_STREAM)


class Wanted(NamedTuple):
    """The models whose changes are asked for, each with its filter, and the cursor to begin at."""

    filters: Mapping[str, Filter]
    since: str


def read_model(collection: Collection) -> Wanted:
    """Return what a request for the changes of one model asks for, and authorize it."""
    given = parse_parameter("options", request.args)
    if given is None and request.method == "POST":
        body = read_body()
        given = body.get("options", body)
    return Wanted({collection.name: _read(collection, given)}, _since())


def read_models() -> Wanted:
    """Return what a request for the changes of several models asks for, and authorize it.

    Raises InvalidChangeStream, InvalidFilter and access errors.
    """
    names = list(dict.fromkeys(filter(None, request.args.get("models", "").split(","))))
    if not names or len(names) > MAX_MODELS:
        raise InvalidChangeStream(f"models must name 1 to {MAX_MODELS} models.")
    served, watched = served_endpoints.current, watched_models.current
    for name in names:
        if name not in watched or f"{name}.{CHANGE_STREAM}" not in served:
            raise InvalidChangeStream("models names one whose changes are not recorded.")
    options = parse_parameter("options", request.args) or {}
    if not options.keys() <= set(names):
        raise InvalidChangeStream("options must have objects by the names in models.")
    filters = {name: _read(watched[name].collection, options.get(name)) for name in names}
    return Wanted(filters, _since())


def wait_seconds() -> float:
    """Return for how long a request for JSON waits; raise InvalidChangeStream."""
    given = request.args.get("wait", "0")
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_WAIT:
        raise InvalidChangeStream(f"wait must be a number of seconds from 0 to {MAX_WAIT}.")
    return seconds


def wants_stream() -> bool:
    """Return True unless the request prefers JSON to an event stream."""
    accepted = request.accept_mimetypes
    return accepted.best_match([EVENT_STREAM, "application/json"]) != "application/json"


def _read(collection: Collection, options: object) -> Filter:
    """Authorize the changes of a model; return its filter."""
    for method in METHODS:
        authorize(collection.name, method)
    if not isinstance(options, Mapping | None):
        raise InvalidFilter("options must be an object.")
    if unknown := (options or {}).keys() - {"where"}:
        raise InvalidFilter(f"options have only where, and not {min(map(str, unknown))[:100]}.")
    filter_ = collection.parse(options)
    if filter_.relations:
        raise InvalidFilter("A where of changes cannot use relations.")
    return filter_


def _since() -> str:
    return request.headers.get("Last-Event-ID") or request.args.get("since", "")
