"""What stores of files have in common: their interface, and what they return."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from app.http.sent_files import OpenFile

Json = dict[str, object]

#: Containers, and files of a container, that one answer lists.
MAX_LISTED = 1000


@dataclass(frozen=True)
class Page:
    """Containers or files as clients see them, in the order of their names."""

    items: Sequence[Json]
    # The name behind which there are more, None at the end.
    last: str | None


class Stored(Protocol):
    """A file that is stored, and how it is read."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    @property
    def modified(self) -> float:
        """When it was stored, in seconds of Unix time."""

    @property
    def etag(self) -> str:
        """A text that changes with the file."""

    def part(self, start: int, count: int) -> OpenFile:
        """Return an open file with so many bytes from an offset; raise StorageUnavailable."""


class Upload(Protocol):
    """A file on its way into a store: nobody sees it before `publish`."""

    def write(self, data: bytes) -> None:
        """Add bytes; raise StorageFull or StorageUnavailable."""

    def finish(self) -> None:
        """Make sure that all bytes are stored."""

    def publish(self) -> Json | None:
        """Give the file its name, in place of one that has it; return what the provider says."""

    def discard(self) -> None:
        """Leave nothing of it, unless it was published."""


class Store(Protocol):
    """Containers with files. Names were checked before."""

    def containers(self, after: str) -> Page:
        """Return the containers whose names come after a text."""

    def create_container(self, name: str) -> Json:
        """Create and return a container; raise ContainerExists."""

    def container(self, name: str) -> Json:
        """Return a container; raise ContainerNotFound."""

    def destroy_container(self, name: str) -> None:
        """Delete a container with its files; raise ContainerNotFound or ContainerNotEmpty."""

    def files(self, container: str, after: str) -> Page:
        """Return the files whose names come after a text; there are none without the container."""

    def file(self, container: str, name: str) -> Json:
        """Return what is known of a file; raise FileNotFound."""

    def remove_file(self, container: str, name: str) -> None:
        """Delete a file; raise FileNotFound."""

    def read(self, container: str, name: str) -> AbstractContextManager[Stored]:
        """Return a file to be sent, of which an opened part outlives the context.

        Raises FileNotFound.
        """

    def upload(self, container: str, name: str, content_type: str) -> Upload:
        """Begin to store a file; raise ContainerNotFound."""


def to_text(moment: float) -> str:
    """Return a moment of Unix time as JavaScript writes it."""
    text = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
