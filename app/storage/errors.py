"""HTTP errors of files and containers."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOSPC, ENOTDIR

from flask import current_app
from werkzeug.exceptions import (
    BadRequest,
    Conflict,
    Forbidden,
    HTTPException,
    NotFound,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

from app.errors import TemporarilyUnavailable, quote

# System errors for names that lead to nothing that is served, and for a full disk.
ABSENT = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG}
FULL = {ENOSPC, EDQUOT, EFBIG}


class InvalidName(BadRequest):
    """The name of a container or file is invalid."""

    error_code = "INVALID_NAME"

    def __init__(self, name: object) -> None:
        super().__init__(f"Invalid name: {quote(name)}")


class ContainerNotFound(NotFound):
    """The container does not exist."""

    error_code = "CONTAINER_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"Container not found: {quote(name)}")


class FileNotFound(NotFound):
    """The file does not exist."""

    error_code = "FILE_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"File not found: {quote(name)}")


class ContainerExists(Conflict):
    """The container already exists, possibly for another account."""

    error_code = "CONTAINER_EXISTS"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a container {quote(name)} already.")


class ContainerNotEmpty(Conflict):
    """The container has folders, or more files than one call may delete."""

    error_code = "CONTAINER_NOT_EMPTY"

    def __init__(self, name: str) -> None:
        super().__init__(f"The container {quote(name)} has what cannot be deleted with it.")


class InvalidSignature(Forbidden):
    """The signature of a file's URL is invalid, or has expired."""

    error_code = "INVALID_SIGNATURE"
    description = "This address of a file is invalid, or has expired: read its row again."


class InvalidUpload(BadRequest):
    """The body is no multipart form, or has no file."""

    error_code = "INVALID_UPLOAD"


class FileTooLarge(RequestEntityTooLarge):
    """A file, the fields or their number exceed the limits of an upload."""

    error_code = "PAYLOAD_TOO_LARGE"


class TypeNotAllowed(UnsupportedMediaType):
    """The type of a file is not allowed, or does not match its first bytes."""

    error_code = "TYPE_NOT_ALLOWED"


class StorageFull(HTTPException):
    """There is no room for the file."""

    code = 507
    error_code = "STORAGE_FULL"
    description = "There is no room for the file."


class StorageUnavailable(TemporarilyUnavailable):
    """The storage does not answer, or refuses access."""

    error_code = "STORAGE_UNAVAILABLE"
    description = "The storage is not available."


def unavailable(reason: object) -> StorageUnavailable:
    """Return the error for a failure, whose reason is only logged."""
    current_app.logger.error("the storage failed: %s", reason)
    return StorageUnavailable()


@contextmanager
def translated(absent: HTTPException) -> Iterator[None]:
    """Translate system errors; `absent` is raised for names that lead to nothing."""
    try:
        yield
    except OSError as error:
        if error.errno in ABSENT:
            raise absent from None
        if error.errno in FULL:
            current_app.logger.error("the storage is full")
            raise StorageFull() from None
        # The error's text contains names of files.
        raise unavailable(error.strerror or EIO) from None
