"""The endpoints of a property that holds a file, such as `/photos/7/image`."""

from collections.abc import Callable, Sequence
from typing import Any

from flask import request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import Conflict, PreconditionFailed, RequestedRangeNotSatisfiable

from app.access.policy import Grant
from app.access.rules import EVERYONE, READ, WRITE
from app.database.columns import StoredFile
from app.errors import BLANK, OVERTAKEN, ValidationError
from app.fields.files import File
from app.rest.answers import NO_CONTENT
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, Route
from app.rest.rows.values import Row
from app.rest.views.representations import check_first, respond_row
from app.rest.writing import update_one
from app.storage.errors import (
    FileNotFound,
    FileTooLarge,
    InvalidName,
    InvalidSignature,
    InvalidUpload,
    StorageFull,
    StorageUnavailable,
    TypeNotAllowed,
)
from app.storage.setup import stores
from app.storage.types import UNKNOWN, name_of_type
from app.storage.views import CONTENT, RANGE, send_stored

from .receiving import FilePlace, places, received_body
from .urls import SIGNED, read_time

NAME = {
    "name": "name",
    "in": "query",
    "description": "The name of the file, with which it is saved; by default that of the property.",
    "schema": {"type": "string", "maxLength": 255},
}
SIGNATURE = tuple(
    {
        "name": name,
        "in": "query",
        "required": True,
        "schema": {"type": "string"},
    }
    for name in ("expires", "signature")
)
SENDING = (PreconditionFailed(), RequestedRangeNotSatisfiable(), StorageUnavailable())
UPLOAD_ERRORS = (
    InvalidUpload("No file content uploaded"),
    InvalidName("../a"),
    FileTooLarge(),
    TypeNotAllowed(),
    StorageFull(),
    StorageUnavailable(),
)


class FileViews:
    """The views of one property of a collection."""

    def __init__(self, collection: Collection, name: str, field: File) -> None:
        self._collection = collection
        self._name = name
        self._attribute = field.attribute or name
        self._field = field

    def show(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Send the file of a row, or the part of it requested by `Range`."""
        row = self._collection.read(grant, self._collection.authorize_id(grant, id))
        file = self._file(row)
        if file is None:
            raise FileNotFound(self._name)
        return self._send(file)

    def show_signed(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Send the file of a row to everyone who has the `url` that the row was read with."""
        expires, signature = (request.args.get(name, "") for name in ("expires", "signature"))
        # Before the database is read.
        read_time(expires)
        row_id = self._collection.id_form.parse(id)
        row = None if row_id is None else self._collection.rows.get(row_id, [])
        file = None if row is None else self._file(row)
        if row_id is None or file is None:
            raise InvalidSignature()
        self._place.signer.check(row_id, file, expires, signature)
        return self._send(file)

    def replace(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Store the body as the file of a row, in place of the one that it has."""
        collection, place = self._collection, self._place
        row_id = collection.authorize_id(grant, id)
        scope = collection.write_scope(grant)
        check = check_first(collection, row_id, scope.conditions)
        collection.or_denied(row_id, collection.rows.get(row_id, scope.conditions))
        declared = request.headers.get("Content-Type", UNKNOWN)
        name = request.args.get("name") or name_of_type(self._name, declared)
        with received_body(place, name, declared, request.stream) as file:
            changes = {self._name: file}
            row = update_one(collection, row_id, scope, changes, partial=True, check=check)
        return respond_row(collection, row)

    def remove(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Remove the file of a row."""
        collection = self._collection
        row_id = collection.authorize_id(grant, id)
        scope = collection.write_scope(grant)
        check = check_first(collection, row_id, scope.conditions)
        update_one(collection, row_id, scope, {self._name: None}, partial=True, check=check)
        return NO_CONTENT

    def _file(self, row: Row) -> StoredFile | None:
        file: StoredFile | None = self._collection.rows.value(row, self._attribute)
        return file

    @property
    def _place(self) -> FilePlace:
        return places.current[self._collection.name, self._name]

    def _send(self, file: StoredFile) -> ResponseReturnValue:
        # The property may have had another store when the file was uploaded.
        opened = stores.current.get(file.store)
        if opened is None:
            raise FileNotFound(self._name)
        return send_stored(opened.store, file.container, file.key, file.name)


def file_endpoints(
    name: str, field: File, collection: Collection | None, is_hidden: bool
) -> Sequence[Endpoint]:
    """Return the endpoints of a property; without a collection they cannot be called.

    Nobody reads a hidden one.
    """
    views: FileViews | type[FileViews]
    views = FileViews if collection is None else FileViews(collection, name, field)

    def endpoint(
        method: str, access: str, route: str, view: Callable[..., object], **declared: Any
    ) -> Endpoint:
        return Endpoint(
            method=f"__{method}__{name}",
            access=access,
            routes=(Route.parse(route),),
            view=view,
            finds_row=True,
            **declared,
        )

    path = f"/<id>/{name}"
    sent: dict[str, Any] = {"answer": CONTENT, "answer_type": UNKNOWN, "sends_file": True}
    writing: dict[str, Any] = {"ruled_by": "patchAttributes", "has_preconditions": True}
    missing = FileNotFound(name)
    refused = ValidationError({name: [BLANK]}), Conflict(OVERTAKEN)
    reading = [
        endpoint(
            *("get", READ, f"GET {path}", views.show),
            summary="Send the file of a {row}, or the part of it requested by Range",
            **sent,
            ruled_by="findById",
            parameters=(RANGE,),
            errors=(missing, *SENDING),
        ),
        endpoint(
            *("signed", READ, f"GET {path}/{SIGNED}", views.show_signed),
            summary="Send the file of a {row} to everyone who has the url of its property",
            **sent,
            ruled_by=EVERYONE,
            parameters=(*SIGNATURE, RANGE),
            errors=(InvalidSignature(), missing, *SENDING),
        ),
    ]
    return [
        *([] if is_hidden else reading),
        endpoint(
            *("update", WRITE, f"PUT {path}", views.replace),
            summary="Store the body as the file of a {row}, in place of the one that it has",
            **writing,
            body=CONTENT,
            body_type=UNKNOWN,
            answer="{}",
            parameters=(NAME,),
            errors=(*UPLOAD_ERRORS, *refused),
            max_upload=field.options.max_bytes,
        ),
        endpoint(
            *("destroy", WRITE, f"DELETE {path}", views.remove),
            summary="Remove the file of a {row}",
            **writing,
            errors=refused,
        ),
    ]
