"""The endpoints of changes: an event stream, and pages of JSON."""

from functools import partial
from typing import Any

from flask import Flask, Response, jsonify, request
from flask.typing import ResponseReturnValue

from app.access.identity import current_identity
from app.access.policy import Grant
from app.access.rules import EVERYONE, READ, allow
from app.errors import (
    RETRY_AFTER,
    AccessDenied,
    AuthorizationRequired,
    InvalidFilter,
    TooManyRequests,
)
from app.observability.origin import current_network
from app.rest.answers import JSON
from app.rest.collection import Collection
from app.rest.endpoint import SAFE_VERBS, Endpoint, Endpoints, Route, register_endpoints
from app.rest.views.changes import EVENT_STREAM, LAST_EVENT_ID, OPTIONS, SINCE, change_streams
from app.server.parking import park
from app.users.sessions.transports import token_look_up

from . import cursors, log
from .errors import InvalidChangeStream
from .hub import hubs
from .log import Position
from .requests import Wanted, read_model, read_models, wait_seconds, wants_stream
from .streams import EventStream, Form, Poll, QueueSink, Stream, fitting, page_of

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
    """Stream changes, or return a page of them, possibly once there are any."""
    wanted = read_models()
    if wants_stream():
        return _open(wanted, EventStream(has_models=True), EVENT_STREAM)
    seconds = wait_seconds()
    epoch, current = log.epoch(), log.snapshot()
    since = cursors.read(wanted.since, epoch)
    if since is None:
        cursor = cursors.write(epoch, Position(current))
        return jsonify(page_of([], cursor, resync=bool(wanted.since)))
    read, form = partial(log.read, since, wanted.filters, current), Poll(seconds)
    page, written = fitting(form, wanted.filters, epoch, read(), read)
    if seconds and not written and not page.has_more:
        return _open(wanted, form, JSON)
    written = written or form.write([], cursors.write(epoch, page.position))
    return Response(written, mimetype=JSON)


def respond_model(collection: Collection) -> ResponseReturnValue:
    """Stream the changes of one model."""
    return _open(read_model(collection), EventStream(has_models=False), EVENT_STREAM)


def _wake(_error: BaseException | None) -> None:
    if request.method not in SAFE_VERBS:
        hubs.current.wake()


def _open(wanted: Wanted, form: Form, media_type: str) -> Response:
    """Return the response of a new stream."""
    response = Response(mimetype=media_type)
    # Proxies must not collect what is sent.
    response.headers.update({"X-Accel-Buffering": "no", "Cache-Control": "no-store"})
    if request.method == "HEAD":
        return response
    epoch, hub = log.epoch(), hubs.current
    since = cursors.read(wanted.since, epoch)
    position = since or Position(log.snapshot())
    caller, network = current_identity(), current_network() or ""
    stream = Stream(form, wanted.filters, epoch, position, caller, token_look_up(), network)
    stream.needs_resync = since is None and bool(wanted.since)
    if parked := park(request.environ, hub.wake):
        stream.sink = parked
        hub.add(stream)
        response.response = parked.begin(form.opening)
    else:
        stream.sink = sink = QueueSink(hub.wake)
        sink.send(form.opening)
        hub.add(stream)
        response.response = sink
    return response


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
        TooManyRequests(RETRY_AFTER),
    ),
    unscoped=True,
)


def init_app(app: Flask) -> None:
    """Serve changes: the streams of models, and, unless the path is taken, those of several."""
    change_streams.set(app, respond_model)
    # The process itself need not wait for the next look, nor for a notification.
    app.teardown_request(_wake)
    path = f"{app.config['REST_API_ROOT']}/{MODEL}".lower()
    served = (rule.rule.lower() for rule in app.url_map.iter_rules())
    if MODEL in app.blueprints or any(f"{rule}/".startswith(f"{path}/") for rule in served):
        app.logger.warning("changes are not served: the project has a model changes, or %s", path)
        return
    # The rules of the models decide.
    register_endpoints(app, Endpoints(MODEL, [endpoint], [allow(EVERYONE)]))
