"""The endpoints of changes: an event stream, and pages of JSON."""

from collections.abc import Sequence
from typing import Any

from flask import Flask, Response, jsonify
from flask.typing import ResponseReturnValue

from app.access.policy import Grant
from app.access.rules import EVERYONE, READ, allow
from app.errors import AccessDenied, AuthorizationRequired, InvalidFilter
from app.rest.endpoint import Endpoint, Endpoints, Route, register_endpoints
from app.rest.views.changes import LAST_EVENT_ID, OPTIONS, SINCE

from . import cursors, log
from .errors import InvalidChangeStream
from .events import events_of
from .log import Position
from .requests import Wanted, read_models

# The name of the endpoint in paths and rules.
MODEL = "changes"
ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["changes", "next"],
    "properties": {
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["model", "target", "where", "type"],
                "properties": {
                    "model": {"type": "string"},
                    "target": {},
                    "where": {"type": "object"},
                    "data": {"type": "object"},
                    "type": {"type": "string", "enum": ["create", "update", "remove"]},
                },
            },
        },
        "next": {"type": "string", "description": "The cursor of the next page."},
        "resync": {
            "description": "True, or a list of models: their rows must be read anew, because"
            " changes of them may be missing.",
        },
    },
}
MODELS = {
    "name": "models",
    "in": "query",
    "required": True,
    "description": "Names of models, separated by commas.",
    "schema": {"type": "string"},
}


def respond(grant: Grant) -> ResponseReturnValue:
    """Return a page of changes."""
    return _page(read_models())


def _page(wanted: Wanted) -> Response:
    """Return the changes after the cursor, or only the cursor to begin with."""
    epoch, current = log.epoch(), log.snapshot()
    since = cursors.read(wanted.since, epoch)
    if since is None:
        return _answer([], cursors.write(epoch, Position(current)), bool(wanted.since))
    page = log.read(since, wanted.filters, current)
    events = events_of(wanted.filters, page.changes)
    sent = [event.to_json() for event in events if event.type]
    resync = sorted({event.model for event in events if not event.type})
    return _answer(sent, cursors.write(epoch, page.position), resync)


def _answer(changes: Sequence[object], following: str, resync: bool | Sequence[str]) -> Response:
    missed = {"resync": resync} if resync else {}
    return jsonify({"changes": changes, "next": following, **missed})


endpoint = Endpoint(
    method="list",
    access=READ,
    routes=(Route("GET", ""),),
    view=respond,
    summary="List the changes of several models",
    description="Without a cursor, it answers only the one to begin with.",
    parameters=(MODELS, OPTIONS, SINCE, LAST_EVENT_ID),
    answer=ANSWER,
    errors=(
        InvalidChangeStream("models is missing."),
        InvalidFilter("where must be an object."),
        AuthorizationRequired(),
        AccessDenied(),
    ),
    unscoped=True,
)


def init_app(app: Flask) -> None:
    """Serve changes, unless something else of the project has their name or path."""
    path = f"{app.config['REST_API_ROOT']}/{MODEL}".lower()
    served = (rule.rule.lower() for rule in app.url_map.iter_rules())
    if MODEL in app.blueprints or any(f"{rule}/".startswith(f"{path}/") for rule in served):
        app.logger.warning("changes are not served: the project has a model changes, or %s", path)
        return
    # The rules of the models decide.
    register_endpoints(app, Endpoints(MODEL, [endpoint], [allow(EVERYONE)]))
