"""The HTTP errors of files and containers."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOSPC, ENOTDIR

from flask import current_app
from werkzeug.exceptions import (
    BadRequest,
    Conflict,
    HTTPException,
    NotFound,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

from app.errors import TemporarilyUnavailable, quote

# What the system says of a name that leads to nothing that is served; of a full disk.
ABSENT = {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG}
FULL = {ENOSPC, EDQUOT, EFBIG}


class InvalidName(BadRequest):
    """The name of a container or file cannot be used."""

    error_code = "INVALID_NAME"

    def __init__(self, name: object) -> None:
        super().__init__(f"Invalid name: {quote(name)}")


class ContainerNotFound(NotFound):
    """There is no such container."""

    error_code = "CONTAINER_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"Container not found: {quote(name)}")


class FileNotFound(NotFound):
    """There is no such file."""

    error_code = "FILE_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"File not found: {quote(name)}")


class ContainerExists(Conflict):
    """There is such a container already, or somebody else has it."""

    error_code = "CONTAINER_EXISTS"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a container {quote(name)} already.")


class ContainerNotEmpty(Conflict):
    """The container has folders, or more than is deleted in one call."""

    error_code = "CONTAINER_NOT_EMPTY"

    def __init__(self, name: str) -> None:
        super().__init__(f"The container {quote(name)} has what cannot be deleted with it.")


class InvalidUpload(BadRequest):
    """The body is no multipart form, or has no file."""

    error_code = "INVALID_UPLOAD"


class FileTooLarge(RequestEntityTooLarge):
    """A file, the fields or their number are more than an upload may have."""

    error_code = "PAYLOAD_TOO_LARGE"


class TypeNotAllowed(UnsupportedMediaType):
    """The type of a file is not allowed, or its first bytes are of another one."""

    error_code = "TYPE_NOT_ALLOWED"


class StorageFull(HTTPException):
    """There is no room for the file."""

    code = 507
    error_code = "STORAGE_FULL"
    description = "There is no room for the file."


class StorageUnavailable(TemporarilyUnavailable):
    """The storage does not answer, or refuses the service."""

    error_code = "STORAGE_UNAVAILABLE"
    description = "The storage is not available."


def unavailable(reason: object) -> StorageUnavailable:
    """Return the error for a failure, of which only the log has the reason."""
    current_app.logger.error("the storage failed: %s", reason)
    return StorageUnavailable()


@contextmanager
def translated(absent: HTTPException) -> Iterator[None]:
    """Translate errors of the system; `absent` is raised where a name leads to nothing."""
    try:
        yield
    except OSError as error:
        if error.errno in ABSENT:
            raise absent from None
        if error.errno in FULL:
            current_app.logger.error("the storage is full")
            raise StorageFull() from None
        # The text of the error has names of files.
        raise unavailable(error.strerror or EIO) from None
