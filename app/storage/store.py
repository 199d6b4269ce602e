"""The interface of file stores: valid names, and the types that stores return."""

import re
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from app.http.sent_files import OpenFile

from .errors import InvalidName

Description = dict[str, object]

#: Maximum containers, or files of a container, in one response.
MAX_LISTED = 1000
#: Maximum bytes of a container's or file's name in UTF-8, as in most file systems.
MAX_NAME = 255
#: Maximum characters of a name that is normalized: one of 255 bytes has at most 382 in Unicode's
#: form NFD, which macOS sends. Longer ones take quadratic time.
MAX_NORMALIZED = 382
# Path separators, characters with a meaning on Windows, and surrogates and control characters.
RESERVED_CHARACTERS = re.compile(r'[/\\:<>"|?*\ufffd]')
# Windows devices, regardless of what follows the first dot.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|\Z)", re.I)
# Joiners, which occur in words and emojis; other invisible characters are refused.
JOINERS = str.maketrans("", "", "\u200c\u200d")


@dataclass(frozen=True)
class Listing:
    """Containers or files as clients see them, in the order of their names."""

    items: Sequence[Description]
    # The name after which there are more, None at the end.
    last: str | None


class Stored(Protocol):
    """A stored file, and how it is read."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    @property
    def modified(self) -> float:
        """When it was stored, as a Unix time in seconds."""

    @property
    def etag(self) -> str:
        """A text that changes with the file's content."""

    def part(self, start: int, count: int) -> OpenFile:
        """Return an open file, limited to bytes from an offset; raise StorageUnavailable."""


class Upload(Protocol):
    """A file being stored, which is not visible before `publish`."""

    def write(self, data: bytes) -> None:
        """Add bytes; raise StorageFull or StorageUnavailable."""

    def finish(self) -> None:
        """Make sure that all bytes are stored."""

    def publish(self) -> Description | None:
        """Make the file visible, replacing any with its name; return the provider's response."""

    def discard(self) -> None:
        """Delete the file, unless it was published."""


class Store(Protocol):
    """Containers with files. Names must be checked before."""

    def containers(self, after: str) -> Listing:
        """Return the containers with names after a text."""

    def create_container(self, name: str) -> Description:
        """Create and return a container; raise ContainerExists."""

    def container(self, name: str) -> Description:
        """Return a container; raise ContainerNotFound."""

    def destroy_container(self, name: str) -> None:
        """Delete a container with its files; raise ContainerNotFound or ContainerNotEmpty."""

    def files(self, container: str, after: str) -> Listing:
        """Return the files with names after a text; none if the container does not exist."""

    def file(self, container: str, name: str) -> Description:
        """Return a file's metadata; raise FileNotFound."""

    def remove_file(self, container: str, name: str) -> None:
        """Delete a file; raise FileNotFound."""

    def read(self, container: str, name: str) -> AbstractContextManager[Stored]:
        """Return a file to be sent; its opened parts may be used after the context.

        Raises FileNotFound.
        """

    def upload(self, container: str, name: str, content_type: str) -> Upload:
        """Begin to store a file; raise ContainerNotFound."""


def to_text(moment: float) -> str:
    """Return a Unix time as JavaScript writes it."""
    text = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def check_name(name: object) -> str:
    """Return a name in Unicode's form NFC; raise InvalidName."""
    if not isinstance(name, str) or len(name) > MAX_NORMALIZED:
        raise InvalidName(name)
    composed = unicodedata.normalize("NFC", name)
    if not is_name(composed):
        raise InvalidName(name)
    return composed


def is_name(name: str) -> bool:
    """Return True if a name may be served."""
    return (
        bool(name)
        # Before the normal form is computed, which takes quadratic time.
        and len(name.encode(errors="replace")) <= MAX_NAME
        and not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and not RESERVED_CHARACTERS.search(name)
        and not DEVICES.match(name)
        and name.translate(JOINERS).isprintable()
        and name == unicodedata.normalize("NFC", name)
    )
