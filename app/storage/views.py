"""Endpoints for a store's containers and files, as in loopback-component-storage."""

from urllib.parse import quote, urlencode

from flask import Response, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import PreconditionFailed, RequestedRangeNotSatisfiable

from app.access.policy import Grant
from app.access.rules import READ, WRITE
from app.errors import ValidationError
from app.http.sent_files import send_file
from app.rest.endpoint import Endpoint, declare, endpoints_of
from app.rest.requests.bodies import read_body
from app.rest.routing import requested_path

from .errors import (
    ContainerExists,
    ContainerNotEmpty,
    ContainerNotFound,
    FileNotFound,
    FileTooLarge,
    InvalidName,
    InvalidUpload,
    StorageFull,
    StorageUnavailable,
    TypeNotAllowed,
)
from .settings import StoreSettings
from .store import Listing, Store, check_name
from .types import PDF, SANDBOX, SANDBOX_OF_PDF, SHOWN, sent_type
from .uploads import MULTIPART, FormReader

LINK = "Link"
# Clients must revalidate: a file may have changed, or the permission to read it.
CACHE_CONTROL = "private, no-cache"

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FILE = {
    "type": "object",
    "properties": {
        "container": {"type": "string"},
        "name": {"type": "string"},
        "size": {"type": "integer", "minimum": 0},
    },
    "required": ["container", "name", "size"],
}
UPLOADED = {
    "type": "object",
    "properties": {
        "result": {
            "type": "object",
            "properties": {
                "files": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": FILE},
                },
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                },
            },
            "required": ["files", "fields"],
        }
    },
    "required": ["result"],
}
FORM = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
CONTENT = {"type": "string", "format": "binary"}
AFTER = {
    "name": "after",
    "in": "query",
    "description": "The name behind which the list begins, as the `Link` of an answer has it.",
    "schema": {"type": "string"},
}
IN_CONTAINER = (InvalidName("../a"), StorageUnavailable(), ContainerNotFound("photos"))
RANGE = {
    "name": "Range",
    "in": "header",
    "description": "The part of the file that is sent: `bytes=0-99`.",
    "schema": {"type": "string"},
}
OF_FILE = (InvalidName("../a"), StorageUnavailable(), FileNotFound("a.png"))


class StoreViews:
    """The views of a model attached to a store."""

    def __init__(self, store: Store, settings: StoreSettings) -> None:
        self._store = store
        self._settings = settings

    @declare(
        "getContainers",
        READ,
        "GET /",
        answer=[NAMED],
        parameters=(AFTER,),
        errors=(StorageUnavailable(),),
        summary="List the containers",
    )
    def get_containers(self, grant: Grant) -> ResponseReturnValue:
        """List the containers."""
        return _respond_page(self._store.containers(_after()))

    @declare(
        "createContainer",
        WRITE,
        "POST /",
        body=NAMED,
        answer=NAMED,
        errors=(
            InvalidName("../a"),
            ContainerExists("photos"),
            ValidationError({"name": ["must be text"]}),
            StorageFull(),
            StorageUnavailable(),
        ),
        summary="Create a container",
    )
    def create_container(self, grant: Grant) -> ResponseReturnValue:
        """Create a container."""
        name = read_body().get("name")
        if not isinstance(name, str):
            raise ValidationError({"name": ["must be text"]})
        return jsonify(self._store.create_container(check_name(name)))

    @declare(
        "getContainer",
        READ,
        "GET /<container>",
        answer=NAMED,
        errors=IN_CONTAINER,
        summary="Show a container",
    )
    def get_container(self, grant: Grant, container: str) -> ResponseReturnValue:
        """Show a container."""
        return jsonify(self._store.container(check_name(container)))

    @declare(
        "destroyContainer",
        WRITE,
        "DELETE /<container>",
        errors=(*IN_CONTAINER, ContainerNotEmpty("photos")),
        summary="Delete a container with its files",
    )
    def destroy_container(self, grant: Grant, container: str) -> None:
        """Delete a container with its files."""
        self._store.destroy_container(check_name(container))

    @declare(
        "getFiles",
        READ,
        "GET /<container>/files",
        answer=[FILE],
        parameters=(AFTER,),
        errors=IN_CONTAINER[:2],
        summary="List the files of a container",
    )
    def get_files(self, grant: Grant, container: str) -> ResponseReturnValue:
        """List the files of a container."""
        return _respond_page(self._store.files(check_name(container), _after()))

    @declare(
        "getFile",
        READ,
        "GET /<container>/files/<file>",
        answer=FILE,
        errors=OF_FILE,
        summary="Show a file's metadata",
    )
    def get_file(self, grant: Grant, container: str, file: str) -> ResponseReturnValue:
        """Show a file's metadata."""
        return jsonify(self._store.file(check_name(container), check_name(file)))

    @declare(
        "removeFile",
        WRITE,
        "DELETE /<container>/files/<file>",
        errors=OF_FILE,
        summary="Delete a file",
    )
    def remove_file(self, grant: Grant, container: str, file: str) -> None:
        """Delete a file."""
        self._store.remove_file(check_name(container), check_name(file))

    @declare(
        "upload",
        WRITE,
        "POST /<container>/upload",
        body=FORM,
        body_type=MULTIPART,
        answer=UPLOADED,
        errors=(
            InvalidUpload("No file content uploaded"),
            *IN_CONTAINER,
            FileTooLarge(),
            TypeNotAllowed(),
            StorageFull(),
        ),
        summary="Store the files of a form: all of them, or none",
        description="A file replaces one with the same name.",
    )
    def upload(self, grant: Grant, container: str) -> ResponseReturnValue:
        """Store the files of a form: all of them, or none."""
        reader = FormReader(self._store, self._settings, check_name(container))
        uploaded = reader.read(request.stream, request.headers.get("Content-Type", ""))
        return jsonify({"result": {"files": uploaded.files, "fields": uploaded.fields}})

    @declare(
        "download",
        READ,
        "GET /<container>/download/<file>",
        answer=CONTENT,
        answer_type="application/octet-stream",
        parameters=(RANGE,),
        errors=(*OF_FILE, PreconditionFailed(), RequestedRangeNotSatisfiable()),
        sends_file=True,
        summary="Send a file, or the part of it requested by Range",
    )
    def download(self, grant: Grant, container: str, file: str) -> ResponseReturnValue:
        """Send a file, or the part of it requested by `Range`."""
        name = check_name(file)
        return send_stored(self._store, check_name(container), name, name)


def store_endpoints(store: Store, settings: StoreSettings) -> list[Endpoint]:
    """Return the endpoints of a model attached to a store."""
    return endpoints_of(StoreViews(store, settings))


def send_stored(store: Store, container: str, key: str, name: str) -> Response:
    """Return the response with a file of a container, or the part of it requested by `Range`.

    `key` is its name there, `name` the one that clients see. Raises FileNotFound,
    PreconditionFailed and RequestedRangeNotSatisfiable.
    """
    with store.read(container, key) as stored:
        response = _file_response(name)
        send_file(
            response,
            request.environ,
            stored.size,
            stored.modified,
            stored.etag,
            stored.part,
        )
    return response


def _file_response(name: str) -> Response:
    """Return a response whose content is never executed."""
    type_ = sent_type(name)
    response = Response(mimetype=type_)
    kind = "inline" if type_ in SHOWN else "attachment"
    response.headers["Content-Disposition"] = f"{kind}; filename*=UTF-8''{quote(name, safe='')}"
    response.headers["Content-Security-Policy"] = SANDBOX_OF_PDF if type_ == PDF else SANDBOX
    response.headers["Cache-Control"] = CACHE_CONTROL
    return response


def _after() -> str:
    return request.args.get("after", "")


def _respond_page(page: Listing) -> ResponseReturnValue:
    """Return the response with a page, and a link to the next one if there is more."""
    response = jsonify(page.items)
    if page.last is not None:
        # Relative, so that it works behind any proxy.
        url = f"{request.script_root}{requested_path()}?{urlencode({'after': page.last})}"
        response.headers[LINK] = f'<{url}>; rel="next"'
    return response
