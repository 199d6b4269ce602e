"""OpenAPI error responses: one for each status, with an example of every code."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import marshmallow
from marshmallow.fields import Raw
from werkzeug.exceptions import (
    HTTPException,
    InternalServerError,
    RequestEntityTooLarge,
    RequestURITooLarge,
    UnsupportedMediaType,
)

from app import errors
from app.error_responses import error_response
from app.rest.requests.bodies import MAX_DEPTH

from .schemas import Json, ref

RETRY_AFTER = {
    "Retry-After": {
        "description": "Whole seconds until the next attempt.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
# The errors of any operation.
SERVICE_ERRORS = (
    RequestURITooLarge(),
    InternalServerError(),
    errors.TemporarilyUnavailable(),
    errors.DatabaseTimeout(),
)


def body_errors() -> list[HTTPException]:
    """Return the errors of any request body."""
    return [
        errors.MalformedBody("The body must be a JSON object."),
        errors.TooDeep(f"It nests deeper than {MAX_DEPTH} levels."),
        RequestEntityTooLarge(),
        UnsupportedMediaType("Send the body with Content-Type: application/json."),
    ]


def schema_errors(body: object) -> Iterator[HTTPException]:
    """Yield the error for a body that a schema refuses, unless it accepts any object."""
    if not isinstance(body, type) or not issubclass(body, marshmallow.Schema):
        return
    schema = body()
    fields = [field for field in schema.load_fields.values() if not isinstance(field, Raw)]
    if fields or schema.unknown == marshmallow.RAISE:
        names = [field.data_key or str(field.name) for field in fields] or ["property"]
        yield errors.ValidationError({names[0]: [errors.BLANK]})


def responses(errors_: Iterable[HTTPException], shared: dict[str, Json]) -> dict[str, Json]:
    """Return the responses of these errors and of SERVICE_ERRORS, by status.

    Most operations have the same responses, so they are added to `shared` and referred to.
    """
    ranked = sorted([*errors_, *SERVICE_ERRORS], key=_status)
    by_status = {str(status): _response(list(found)) for status, found in groupby(ranked, _status)}
    return {status: _share(status, response, shared) for status, response in by_status.items()}


def _status(error: HTTPException) -> int:
    return error.code or 0


def _share(status: str, response: Json, shared: dict[str, Json]) -> Json:
    codes = response["content"]["application/json"].get("examples", {})
    name = ".".join([status, *codes])
    if shared.setdefault(name, response) != response:
        return response
    return {"$ref": f"#/components/responses/{name}"}


def _response(errors_: list[HTTPException]) -> Json:
    """Return the response of a status, with the description and an example of each code."""
    bodies: dict[str, Any] = {}
    descriptions: dict[str, str] = {}
    for error in errors_:
        example = error_response(error).get_json()
        code = example["error"].get("code", example["error"]["name"])
        bodies.setdefault(code, {"value": example})
        ours = hasattr(error, "error_code")
        text = (type(error).__doc__ or "").partition("\n")[0] if ours else example["message"]
        descriptions.setdefault(code, f"`{code}`: {text}")
    is_temporary = all(getattr(error, "retry_after", None) for error in errors_)
    return {
        "description": "  \n".join(descriptions.values()),
        **({"headers": RETRY_AFTER} if is_temporary else {}),
        "content": {"application/json": {"schema": ref("ErrorResponse"), "examples": bodies}},
    }
