"""The endpoint of batches."""

from typing import Any

from flask import Flask, Response, current_app
from werkzeug.exceptions import Conflict, MethodNotAllowed, NotFound

from app import errors
from app.access.policy import Grant
from app.access.rules import EXECUTE
from app.errors import OVERTAKEN
from app.rest.answers import JSON
from app.rest.endpoint import Endpoint, Route
from app.rest.requests.bodies import read_body
from app.rest.rows.writer import MAX_ROWS

from .calls import MAX_CALLS, MAX_ID, MAX_PATHS, VERBS, BatchCall, BatchReader
from .errors import CallPlace, InvalidBatch, located
from .running import run

# The name of the endpoint in paths and rules.
MODEL = "batch"
ID: dict[str, Any] = {"type": ["string", "null"], "pattern": f"^[A-Za-z0-9_-]{{1,{MAX_ID}}}$"}
BODY: dict[str, Any] = {
    "type": "object",
    "required": ["requests"],
    "additionalProperties": False,
    "properties": {
        "requests": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_CALLS,
            "items": {
                "type": "object",
                "required": ["method", "path"],
                "additionalProperties": False,
                "properties": {
                    "id": {
                        **ID,
                        "description": "A name by which later calls refer to the answer.",
                    },
                    "method": {"type": "string", "enum": [*VERBS]},
                    "path": {
                        "type": "string",
                        "maxLength": MAX_PATHS,
                        "description": "The path below the base path, with the query string."
                        " `{name.property}` is a property of the answer of the call `name`.",
                    },
                    "body": {
                        "type": ["object", "array", "null"],
                        "description": 'The body. In it, `{"$result": "name.property"}` is a'
                        " property of the answer of the call `name`.",
                    },
                    "ifMatch": {
                        "type": ["string", "null"],
                        "description": "The header `If-Match`.",
                    },
                },
            },
        }
    },
    "examples": [{"requests": [{"id": "first", "method": "GET", "path": "/todos/count"}]}],
}
ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["responses"],
    "properties": {
        "responses": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "status", "etag", "body"],
                "properties": {
                    "id": {"type": ["string", "null"]},
                    "status": {"type": "integer"},
                    "etag": {"type": ["string", "null"]},
                    "body": {},
                },
            },
        }
    },
}
# Of the calls, besides those of any body.
ERRORS = (
    InvalidBatch("method must be one of GET, POST."),
    errors.InvalidFilter("filter must be an object."),
    errors.TooManyRows(MAX_ROWS),
    errors.AuthorizationRequired(),
    errors.InvalidToken(),
    errors.AccessDenied(),
    NotFound("There is no method to handle GET /nothing"),
    errors.ModelNotFound("todo", 1),
    MethodNotAllowed(),
    Conflict(OVERTAKEN),
    errors.TooManyDependents(),
    errors.PreconditionFailed("If-Match"),
    errors.ValidationError({"title": [errors.BLANK]}),
)


def respond(grant: Grant) -> Response:
    """Make the calls of the body in one transaction."""
    place = CallPlace()
    with located(place):
        calls = _read_calls(place)
        return Response(run(_app(), calls, place), content_type=JSON)


def check_calls() -> None:
    """Raise the error of a call that the caller may not make, as `respond` does before the first.

    For a repeated batch, whose answer was kept.
    """
    place = CallPlace()
    with located(place):
        _read_calls(place)


def _read_calls(place: CallPlace) -> list[BatchCall]:
    return BatchReader(_app(), place).read(read_body())


def _app() -> Flask:
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return app


endpoint = Endpoint(
    method="run",
    access=EXECUTE,
    routes=(Route("POST", ""),),
    view=respond,
    summary="Make several calls of rows in one transaction, in order; all of them, or none",
    description="The first that fails undoes all, and its error is the response: `details` have its"
    " position from 0 as `request`, and its `id`.",
    body=BODY,
    answer=ANSWER,
    errors=ERRORS,
    unscoped=True,
)
