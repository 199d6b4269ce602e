"""The endpoint of change streams, for the models whose changes are recorded."""

from collections.abc import Callable, Iterator
from functools import partial

from flask.typing import ResponseReturnValue

from app.access.policy import Grant
from app.access.rules import READ
from app.errors import RETRY_AFTER, InvalidFilter, TooManyRequests
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, Route
from app.rest.resource import Resource
from app.state import AppState

# Opens the change stream of a collection for the request.
change_streams = AppState[Callable[[Collection], ResponseReturnValue]]("change streams")
CHANGE_STREAM = "createChangeStream"
EVENT_STREAM = "text/event-stream"
OPTIONS = {
    "name": "options",
    "in": "query",
    "description": 'A `where` that selects the rows, such as `{"where": {"status": "new"}}`.',
    "content": {"application/json": {"schema": {"type": "object"}}},
}
SINCE = {
    "name": "since",
    "in": "query",
    "description": "A cursor after which the changes begin; `Last-Event-ID` comes before it.",
    "schema": {"type": "string"},
}
LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The `id` of the last event that was received, which browsers send.",
    "schema": {"type": "string"},
}


def change_endpoints(resource: Resource, collection: Collection | None) -> Iterator[Endpoint]:
    """Yield the endpoint of a resource's change stream; for None as declared."""
    if not resource.changes:
        return
    yield Endpoint(
        method=CHANGE_STREAM,
        access=READ,
        routes=(Route("GET", "/change-stream"), Route("POST", "/change-stream")),
        view=partial(_respond, collection),
        summary="Stream the changes of the {row}s that the caller may find",
        description="Events have `target`, `type` (`create`, `update` or `remove`), `where` and,"
        " unless the row is gone, `data`.",
        parameters=(OPTIONS, SINCE, LAST_EVENT_ID),
        body={"type": "object"},
        answer_type=EVENT_STREAM,
        errors=(InvalidFilter("options must be an object."), TooManyRequests(RETRY_AFTER)),
        owned=resource.owner is not None,
        by_row=True,
    )


def _respond(collection: Collection | None, grant: Grant) -> ResponseReturnValue:
    if collection is None:
        raise TypeError("an endpoint as declared cannot be called")
    return change_streams.current(collection)
