"""Entity tags in the OpenAPI document, described once and referred to."""

from collections.abc import Iterator

from apispec import APISpec
from werkzeug.exceptions import BadRequest, HTTPException

from app.errors import PreconditionFailed
from app.rest.endpoint import Endpoint
from app.rest.views.representations import (
    ETAG,
    IF_MATCH,
    IF_NONE_MATCH,
    MAX_TAGS_LENGTH,
    TAGS_TOO_LONG,
)

from .filter_schemas import DocumentPart

TAGS: DocumentPart = {"type": "string", "maxLength": MAX_TAGS_LENGTH}
PARAMETERS: dict[str, DocumentPart] = {
    IF_MATCH: {
        "description": "Change the row only if it has one of these tags, or `*`: any.",
        "schema": TAGS,
    },
    IF_NONE_MATCH: {
        "description": "Tags of what the client has: a read is answered 304, a change is refused.",
        "schema": TAGS,
    },
}
TAG: DocumentPart = {
    "description": "The tag of the row, unless others are included or the answer is an array.",
    "schema": {"type": "string"},
}
TAG_HEADER: dict[str, DocumentPart] = {ETAG: {"$ref": f"#/components/headers/{ETAG}"}}
NOT_MODIFIED: DocumentPart = {
    "304": {"description": "The client has the row already.", "headers": TAG_HEADER}
}


def add_components(spec: APISpec) -> None:
    """Add the headers to a document."""
    for name, parameter in PARAMETERS.items():
        spec.components.parameter(name, "header", parameter)
    spec.components.header(ETAG, TAG)


def precondition_parameters(endpoint: Endpoint, verb: str) -> Iterator[str]:
    """Yield the request headers for tags; apispec refers to them by name."""
    if endpoint.has_preconditions:
        yield IF_MATCH
    if endpoint.has_preconditions or is_tagged_read(endpoint, verb):
        yield IF_NONE_MATCH


def tag_errors(endpoint: Endpoint, verb: str) -> Iterator[HTTPException]:
    """Yield the errors of these headers."""
    names = [*precondition_parameters(endpoint, verb)]
    if names:
        yield BadRequest(TAGS_TOO_LONG.format(names[0]))
    if endpoint.has_preconditions:
        yield PreconditionFailed(IF_MATCH)


def is_tagged_read(endpoint: Endpoint, verb: str) -> bool:
    """Return True if an operation may answer 304."""
    return verb == "GET" and endpoint.answers_row
