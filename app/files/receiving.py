"""Receiving the files of rows: into the store, and then into the row, or not at all."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import IO, Any

from marshmallow import fields
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.multipart import Event, Field, File

from app.database.columns import StoredFile
from app.errors import UNKNOWN_PROPERTY, MalformedBody, ValidationError
from app.fields.base import Schema, Text
from app.fields.files import FileOptions
from app.rest.collection import Collection
from app.rest.requests.bodies import Body, check_text, parse_json
from app.rest.requests.compatibility import convert
from app.rest.rows import files
from app.state import AppState
from app.storage.errors import (
    ContainerExists,
    ContainerNotFound,
    InvalidUpload,
)
from app.storage.settings import StoreSettings
from app.storage.setup import OpenStore
from app.storage.store import Store, Upload, check_name
from app.storage.types import canonical_type, declared_type, types_like
from app.storage.uploads import FieldReader, FileReceiver, body_blocks, form_events, part_data

from .urls import UrlSigner

# Bytes of the key of a file: it cannot be guessed.
KEY_BYTES = 16
# The message for a file that is sent for another property.
NO_FILE = "takes no file"


@dataclass(frozen=True)
class FilePlace:
    """Where the files of a property are, and which ones may be uploaded."""

    store_name: str
    store: Store
    container: str
    settings: StoreSettings
    signer: UrlSigner

    @classmethod
    def of(
        cls, opened: OpenStore, options: FileOptions, container: str, signer: UrlSigner
    ) -> "FilePlace":
        """Return the place of a property's files; the limits of the store apply, too.

        Raises ValueError if the store allows none of the types, or no file as large.
        """
        settings, allowed = opened.settings, opened.settings.allowed_types
        if options.types:
            types = types_like(options.types)
            allowed = types if allowed is None else types & allowed
            if not allowed:
                raise ValueError("the store allows none of its types")
        if options.max_bytes > settings.max_file_size:
            raise ValueError(f"files of the store have at most {settings.max_file_size} bytes")
        limited = replace(settings, allowed_types=allowed, max_file_size=options.max_bytes)
        return cls(options.store, opened.store, check_name(container), limited, signer)


# The places of files, by the name of the collection and that of the property.
places = AppState[dict[tuple[str, str], FilePlace]]("files of rows", factory=lambda _app: {})


class ReceivedFiles:
    """The files that one request uploads; they appear in their stores when all are accepted."""

    def __init__(self) -> None:
        self._uploads: list[tuple[Upload, StoredFile]] = []

    def receive(
        self, place: FilePlace, name: str, declared: str, blocks: Iterable[bytes], stack: ExitStack
    ) -> StoredFile:
        """Receive a file, which does not appear yet.

        Raises InvalidName, FileTooLarge, TypeNotAllowed and errors of the store.
        """
        name, key, type_ = check_name(name), token_hex(KEY_BYTES), declared_type(declared)
        _create_container(place)
        receiver = FileReceiver(place.store, place.settings)
        where = place.container, key
        upload, size = receiver.receive(where, name, type_, blocks, stack)
        type_ = canonical_type(type_)
        file = StoredFile(place.store_name, place.container, key, name, type_, size)
        self._uploads.append((upload, file))
        return file

    @contextmanager
    def published(self) -> Iterator[None]:
        """Let the files appear, for a block that stores their row; remove them if it raises."""
        for _, file in self._uploads:
            files.announce(file)
        try:
            for upload, _ in self._uploads:
                upload.publish()
            yield
        except BaseException:
            # If the database fails, they are removed in an hour, as announced.
            with suppress(HTTPException, SQLAlchemyError):
                files.withdraw(file for _, file in self._uploads)
            raise


def _create_container(place: FilePlace) -> None:
    try:
        place.store.container(place.container)
    except ContainerNotFound:
        # Another request may be faster.
        with suppress(ContainerExists):
            place.store.create_container(place.container)


@contextmanager
def received_body(
    place: FilePlace, name: str, declared: str, body: IO[bytes]
) -> Iterator[StoredFile]:
    """Receive a file that is a request's body; remove it if the block raises."""
    received = ReceivedFiles()
    with ExitStack() as stack:
        blocks = body_blocks(body, place.settings.max_file_size)
        file = received.receive(place, name, declared, blocks, stack)
        if not file.size:
            raise InvalidUpload("No file content uploaded")
        with received.published():
            yield file


@contextmanager
def received_form(
    collection: Collection, body: IO[bytes], content_type: str, most: int, most_text: int
) -> Iterator[Body]:
    """Receive a form with the properties of a new row; remove its files if the block raises.

    It has at most `most` bytes, `most_text` of them in fields.
    """
    received = ReceivedFiles()
    with ExitStack() as stack:
        form = FormOfRow(collection, received, most_text)
        values = form.read(form_events(body, content_type, most), stack)
        with received.published():
            yield values


class FormOfRow:
    """Reads the form of a new row: its files, and the other properties as fields."""

    def __init__(self, collection: Collection, received: ReceivedFiles, most_text: int) -> None:
        self._collection = collection
        self._received = received
        self._fields = FieldReader(most_text)
        self._texts: dict[str, str] = {}
        self._files: dict[str, StoredFile] = {}

    def read(self, events: Iterator[Event], stack: ExitStack) -> Body:
        """Return the values of a form by property; raise InvalidUpload and ValidationError."""
        for event in events:
            if not isinstance(event, Field | File):
                continue
            name = event.name
            if name is None or name in self._texts or name in self._files:
                raise InvalidUpload("Each part of the form has a name of its own.")
            if isinstance(event, File) and event.filename:
                self._files[name] = self._read_file(name, event, events, stack)
            else:
                text = self._read_text(events)
                # Browsers send an empty part for a file that was not chosen.
                if text or name not in self._collection.files:
                    self._texts[name] = text
        return {**from_texts(self._collection.create_schema, self._texts), **self._files}

    def _read_file(
        self, name: str, part: File, events: Iterator[Event], stack: ExitStack
    ) -> StoredFile:
        place = places.current.get((self._collection.name, name))
        if place is None:
            is_known = name in self._collection.written_on_create.values()
            raise ValidationError({name: [NO_FILE if is_known else UNKNOWN_PROPERTY]})
        declared = part.headers.get("content-type", "")
        return self._received.receive(place, part.filename, declared, part_data(events), stack)

    def _read_text(self, events: Iterator[Event]) -> str:
        value = self._fields.read(events)
        try:
            text = value.decode()
            check_text(text)
        except ValueError:
            raise MalformedBody("The body cannot be read: a field is no valid text.") from None
        return text


def from_texts(schema: Schema, texts: Mapping[str, str]) -> Body:
    """Return the values of a form's fields in the types of their properties.

    Properties other than texts may be empty, which is null; objects and arrays are JSON.
    """
    known = {field.data_key or name: field for name, field in schema.load_fields.items()}
    values = {name: _value(known.get(name), text) for name, text in texts.items()}
    converted: Body = convert(schema, values)
    return converted


def _value(field: fields.Field[Any] | None, text: str) -> object:
    if field is None or isinstance(field, Text):
        return text
    if not text:
        return None
    if text[:1] not in ("{", "["):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
