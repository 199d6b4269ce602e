"""Files in a request's multipart form, stored piece by piece: all of them, or none."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from os.path import splitext
from typing import IO
from uuid import uuid4

from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import (
    Data,
    Epilogue,
    Event,
    Field,
    File,
    MultipartDecoder,
    NeedData,
)

from app.errors import quote

from .errors import FileTooLarge, InvalidUpload, TypeNotAllowed
from .settings import StoreSettings
from .store import Description, Store, Upload, check_name
from .types import FIRST_BYTES, begins_as, declared_type, refused_type, types_of

#: Maximum parts of an upload, fields and files together.
MAX_PARTS = 100
#: Maximum bytes of a part's headers.
MAX_PART_HEAD = 16 * 1024
#: Maximum bytes of the headers of all parts of an upload, which are read in 50 ms.
MAX_HEADS = 128 * 1024
#: Maximum characters of the boundary between parts (RFC 2046).
MAX_BOUNDARY = 70
# Bytes of a body read at once.
BLOCK = 64 * 1024

MULTIPART = "multipart/form-data"


@dataclass
class Uploaded:
    """The files and fields of a form, in the form of LoopBack 3's response."""

    files: dict[str, list[Description]] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)


class FormDecoder(MultipartDecoder):
    """Werkzeug's decoder, which does not limit the headers of a part."""

    _heads_size = 0

    def _parse_headers(self, data: bytes | bytearray) -> Headers:
        """Return a part's headers; raise RequestEntityTooLarge."""
        self._heads_size += len(data)
        if len(data) > MAX_PART_HEAD or self._heads_size > MAX_HEADS:
            raise RequestEntityTooLarge
        return super()._parse_headers(data)


class FileReceiver:
    """Receives single files into a store, within the limits of its settings."""

    def __init__(self, store: Store, settings: StoreSettings) -> None:
        self._store = store
        self._settings = settings

    def receive(
        self,
        place: tuple[str, str],
        name: str,
        declared: str,
        blocks: Iterable[bytes],
        stack: ExitStack,
    ) -> tuple[Upload, int]:
        """Store a file at a container and name in it; return it unpublished, and its bytes.

        `name` and the declared type are those that its sender gave it. It is discarded at the end
        of the stack unless it was published. Raises FileTooLarge, TypeNotAllowed and errors of the
        store.
        """
        self._check_type(name, declared)
        upload = self._store.upload(*place, declared)
        stack.callback(upload.discard)
        return upload, self._copy(blocks, upload, types_of(name, declared))

    def _copy(self, blocks: Iterable[bytes], upload: Upload, types: set[str]) -> int:
        """Copy the bytes of a file; return their number."""
        first, size, is_checked = b"", 0, self._settings.allowed_types is None
        for block in blocks:
            size += len(block)
            if size > self._settings.max_file_size:
                raise FileTooLarge(f"A file has at most {self._settings.max_file_size} bytes.")
            if not is_checked:
                first += block[:FIRST_BYTES]
                is_checked = len(first) >= FIRST_BYTES
                if is_checked:
                    _check_first(first, types)
            upload.write(block)
        if not is_checked:
            _check_first(first, types)
        upload.finish()
        return size

    def _check_type(self, name: str, declared: str) -> None:
        """Raise TypeNotAllowed unless a file's type is allowed."""
        allowed = self._settings.allowed_types
        if allowed is not None and (refused := refused_type(name, declared, allowed)):
            known = ", ".join(sorted(allowed))
            raise TypeNotAllowed(f"The type {quote(refused)} is not one of {known}.")


class FieldReader:
    """Reads the fields of a form, which have at most this number of bytes together."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def read(self, events: Iterable[Event]) -> bytes:
        """Return the value of the current part; raise FileTooLarge."""
        value = bytearray()
        for block in part_data(events):
            self._left -= len(block)
            if self._left < 0:
                raise FileTooLarge(f"All fields together have at most {self._most} bytes.")
            value += block
        return bytes(value)


class FormReader:
    """Reads a form into a container, within the limits of a store."""

    def __init__(self, store: Store, settings: StoreSettings, container: str) -> None:
        self._receiver = FileReceiver(store, settings)
        self._settings = settings
        self._container = container
        self._fields = FieldReader(settings.max_fields_size)
        self._uploaded = Uploaded()
        self._uploads: list[tuple[Upload, Description]] = []

    def read(self, body: IO[bytes], content_type: str) -> Uploaded:
        """Store the files of a form if all of them are accepted.

        Raises InvalidUpload, FileTooLarge, TypeNotAllowed, InvalidName, and errors of the store.
        """
        with ExitStack() as stack:
            events = form_events(body, content_type, self._settings.max_request_size)
            for event in events:
                if isinstance(event, Field | File) and event.name is None:
                    raise InvalidUpload("A part of the form has no name.")
                if isinstance(event, File) and event.filename:
                    self._read_file(event, events, stack)
                elif isinstance(event, Field | File):
                    self._read_field(event, events)
            if not self._uploads:
                raise InvalidUpload("No file content uploaded")
            self._publish()
        return self._uploaded

    def _publish(self) -> None:
        """Make all files visible, once the whole form is accepted."""
        for upload, described in self._uploads:
            if (response := upload.publish()) is not None:
                described["providerResponse"] = response

    def _read_file(self, part: File, events: Iterator[Event], stack: ExitStack) -> None:
        given = check_name(part.filename)
        unique = f"{uuid4()}{splitext(given)[1]}"
        name = check_name(unique) if self._settings.make_unique else given
        declared = declared_type(part.headers.get("content-type", ""))
        place = self._container, name
        upload, size = self._receiver.receive(place, given, declared, part_data(events), stack)
        described: Description = {
            "container": self._container,
            "name": name,
            "type": declared,
            "field": part.name,
        }
        if self._settings.make_unique:
            described["originalFilename"] = given
        described["size"] = size
        self._uploaded.files.setdefault(part.name, []).append(described)
        self._uploads.append((upload, described))

    def _read_field(self, part: Field | File, events: Iterator[Event]) -> None:
        value = self._fields.read(events).decode(errors="replace")
        self._uploaded.fields.setdefault(part.name, []).append(value)


def _check_first(data: bytes, types: set[str]) -> None:
    if not begins_as(data, types):
        raise TypeNotAllowed(f"The file does not begin as {', '.join(sorted(types))} does.")


def form_events(body: IO[bytes], content_type: str, most: int) -> Iterator[Event]:
    """Yield the events of a form up to its end; raise InvalidUpload or FileTooLarge."""
    decoder = FormDecoder(_boundary(content_type), BLOCK + MAX_PART_HEAD, max_parts=MAX_PARTS)
    try:
        for block in chain(body_blocks(body, most), [None]):
            decoder.receive_data(block)
            while not isinstance(event := decoder.next_event(), NeedData):
                yield event
                if isinstance(event, Epilogue):
                    return
    except FileTooLarge:
        raise
    except RequestEntityTooLarge:
        raise FileTooLarge(
            f"A form has at most {MAX_PARTS} parts, each with a head of {MAX_PART_HEAD} bytes, all"
            f" heads together of {MAX_HEADS}."
        ) from None
    except ValueError:
        # Its text quotes the body.
        raise InvalidUpload("The form cannot be read.") from None


def _boundary(content_type: str) -> bytes:
    kind, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if kind != MULTIPART or not 0 < len(boundary) <= MAX_BOUNDARY or not boundary.isascii():
        raise InvalidUpload(f"Send a form as {MULTIPART}.")
    return boundary.encode()


def body_blocks(body: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield a body of at most this number of bytes; raise FileTooLarge."""
    size = 0
    with _limited(most):
        while block := body.read(BLOCK):
            size += len(block)
            if size > most:
                raise RequestEntityTooLarge
            yield block


@contextmanager
def _limited(most: int) -> Iterator[None]:
    """Raise FileTooLarge with the limit in place of the server's error for a too large body."""
    try:
        yield
    except RequestEntityTooLarge:
        raise FileTooLarge(f"An upload has at most {most} bytes.") from None


def part_data(events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the bytes of the current part."""
    for event in events:
        if isinstance(event, Data):
            yield event.data
            if not event.more_data:
                return
