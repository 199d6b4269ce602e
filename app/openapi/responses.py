"""How the document describes errors: one response a status, with an example of every code."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from werkzeug.exceptions import (
    HTTPException,
    InternalServerError,
    RequestEntityTooLarge,
    RequestURITooLarge,
    ServiceUnavailable,
    UnsupportedMediaType,
)

from app import errors

from .schemas import Json, ref

# What any request may be answered with.
FAILURES = (
    RequestURITooLarge(),
    InternalServerError(),
    ServiceUnavailable(),
    errors.DatabaseTimeout(),
)


def body_errors() -> list[HTTPException]:
    """Return what any body can be refused with."""
    return [
        errors.MalformedBody("The body must be a JSON object."),
        errors.TooDeep("It nests deeper than 32 levels."),
        RequestEntityTooLarge(),
        UnsupportedMediaType("Send the body with Content-Type: application/json."),
    ]


def responses(refused: Iterable[HTTPException], shared: dict[str, Json]) -> dict[str, Json]:
    """Return the responses of these errors, and of the service's own failures, by status.

    Most operations have most of them in common: those go to `shared`, and are referred to.
    """
    ranked = sorted([*refused, *FAILURES], key=_status)
    found = {str(status): _response(list(each)) for status, each in groupby(ranked, _status)}
    return {status: _share(status, response, shared) for status, response in found.items()}


def _status(error: HTTPException) -> int:
    return error.code or 0


def _share(status: str, response: Json, shared: dict[str, Json]) -> Json:
    codes = response["content"]["application/json"].get("examples", {})
    name = ".".join([status, *codes])
    if shared.setdefault(name, response) != response:
        return response
    return {"$ref": f"#/components/responses/{name}"}


def _response(refused: list[HTTPException]) -> Json:
    """Describe the errors of one status: what each code means, and how it looks."""
    bodies: dict[str, Any] = {}
    meanings: dict[str, str] = {}
    for error in refused:
        shown = errors.render(error).get_json()
        code = shown["error"].get("code", shown["error"]["name"])
        bodies.setdefault(code, {"value": shown})
        ours = hasattr(error, "error_code")
        text = (type(error).__doc__ or "").partition("\n")[0] if ours else shown["message"]
        meanings.setdefault(code, f"`{code}`: {text}")
    schema = ref("Error")
    if all("code" in each["value"]["error"] for each in bodies.values()):
        codes = {"properties": {"code": {"enum": list(bodies)}}, "required": ["code"]}
        schema = {"allOf": [schema, {"properties": {"error": codes}}]}
    return {
        "description": "  \n".join(meanings.values()),
        "content": {"application/json": {"schema": schema, "examples": bodies}},
    }
