"""Files in local folders: a container is a folder, and files appear in it only when complete."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EEXIST
from heapq import heapify, heappop
from itertools import islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from threading import Thread
from uuid import uuid4

from app.http.sent_files import OpenFile
from app.problems import ConfigurationError

from .errors import ContainerExists, ContainerNotEmpty, ContainerNotFound, FileNotFound, translated
from .settings import StoreSettings
from .store import MAX_LISTED, Description, Listing, is_name, to_text

#: Files that a request deletes with their container, in about 10 ms; a thread deletes the others.
MAX_AT_ONCE = 1000
# The folder of incomplete files and those being deleted; no container can have this name.
PENDING = ".uploads"
# Seconds after which its contents count as left by a killed process.
ABANDONED = 24 * 3600
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Links are never followed, and opening a pipe does not wait.
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY


def remove_folder(folder: Path) -> None:
    """Delete a folder of files; if there are many, most of them after the return.

    If the process ends meanwhile, the rest is removed as abandoned.
    """
    try:
        with os.scandir(folder) as entries:
            first = [entry.path for entry in islice(entries, MAX_AT_ONCE)]
        for path in first:
            os.unlink(path)
        os.rmdir(folder)
    except OSError:
        # There is more in it, or something that cannot be deleted: nobody waits for that.
        Thread(target=shutil.rmtree, args=(folder, True), name="removal", daemon=True).start()


@dataclass(frozen=True)
class LocalFile:
    """An open file of a folder."""

    descriptor: int
    found: os.stat_result

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self.found.st_size

    @property
    def modified(self) -> float:
        """When it was stored."""
        return self.found.st_mtime

    @property
    def etag(self) -> str:
        """The file's attributes that change with its content."""
        return f"{self.found.st_mtime_ns:x}-{self.found.st_ino:x}-{self.found.st_size:x}"

    def part(self, start: int, count: int) -> OpenFile:
        """Return the file, limited to a number of bytes from an offset."""
        return OpenFile(os.dup(self.descriptor)).part(start, count)


class LocalUpload:
    """An incomplete file, until it is moved into its container."""

    def __init__(self, store: "LocalStore", container: str, name: str) -> None:
        self._store = store
        self._container = container
        self._name = name
        self._path = store.pending / uuid4().hex
        with store.opened(container), translated(ContainerNotFound(container)):
            # The folder is as safe as its root.
            self._file = os.fdopen(os.open(self._path, NEW | NO_LINK, 0o600), "wb")

    def write(self, data: bytes) -> None:
        """Add bytes; raise StorageFull or StorageUnavailable."""
        with translated(FileNotFound(self._name)):
            self._file.write(data)

    def finish(self) -> None:
        """Flush all bytes to the disk."""
        with translated(FileNotFound(self._name)), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())

    def publish(self) -> Description | None:
        """Move the file to its name, replacing any other; raise ContainerNotFound."""
        container = self._container
        with self._store.opened(container) as folder, translated(ContainerNotFound(container)):
            os.rename(self._path, self._name, dst_dir_fd=folder)
            os.fsync(folder)
        return None

    def discard(self) -> None:
        """Delete the file, unless it was committed."""
        # Closing writes buffered bytes, for which there may be no room.
        with suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)


class LocalStore:
    """Containers below a root folder. Links in it are neither followed nor listed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.pending = root / PENDING

    @classmethod
    def open(cls, settings: StoreSettings, folder: str) -> "LocalStore":
        """Return the store, creating its root if necessary; raise ConfigurationError.

        A relative root is in the project folder.
        """
        root = Path(folder, settings.root)
        try:
            # A new root is for the service's user only; `parents` have the default mode.
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            (root / PENDING).mkdir(mode=0o700, exist_ok=True)
            _remove_abandoned(root / PENDING)
        except OSError as error:
            raise ConfigurationError(f"root cannot be used: {root}: {error.strerror}") from None
        return cls(root)

    def containers(self, after: str) -> Listing:
        """Return the containers with names after a text."""
        with translated(ContainerNotFound("")):
            folder = os.open(self._root, FOLDER)
            with _closing(folder):
                return _page(folder, S_ISDIR, after, {})

    def create_container(self, name: str) -> Description:
        """Create and return a container; raise ContainerExists."""
        with translated(ContainerNotFound(name)):
            try:
                os.mkdir(self._root / name, 0o700)
            except OSError as error:
                if error.errno == EEXIST:
                    raise ContainerExists(name) from None
                raise
        return self.container(name)

    def container(self, name: str) -> Description:
        """Return a container; raise ContainerNotFound."""
        with self.opened(name) as folder:
            return {"name": name, **_times(os.fstat(folder))}

    def destroy_container(self, name: str) -> None:
        """Delete a container with its files; raise ContainerNotFound or ContainerNotEmpty."""
        with self.opened(name) as folder, os.scandir(folder) as entries:
            if any(entry.is_dir(follow_symlinks=False) for entry in entries):
                raise ContainerNotEmpty(name)
        removed = self.pending / uuid4().hex
        with translated(ContainerNotFound(name)):
            # From here on it is not visible.
            os.rename(self._root / name, removed)
        remove_folder(removed)

    def files(self, container: str, after: str) -> Listing:
        """Return the files with names after a text; none if the container does not exist."""
        try:
            with self.opened(container) as folder:
                return _page(folder, S_ISREG, after, {"container": container})
        except ContainerNotFound:
            return Listing([], None)

    def file(self, container: str, name: str) -> Description:
        """Return a file's metadata; raise FileNotFound."""
        with self.read(container, name) as file:
            return {"container": container, "name": name, **_times(file.found)}

    def remove_file(self, container: str, name: str) -> None:
        """Delete a file; raise FileNotFound."""
        with self._container_of(container, name) as folder, translated(FileNotFound(name)):
            if not S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise FileNotFound(name)
            os.unlink(name, dir_fd=folder)

    @contextmanager
    def read(self, container: str, name: str) -> Iterator[LocalFile]:
        """Return an open file; raise FileNotFound for anything but a regular file."""
        with self._container_of(container, name) as folder, translated(FileNotFound(name)):
            flags = os.O_RDONLY | os.O_NONBLOCK | NO_LINK
            descriptor = os.open(name, flags, dir_fd=folder)
        with _closing(descriptor):
            found = os.fstat(descriptor)
            if not S_ISREG(found.st_mode):
                raise FileNotFound(name)
            yield LocalFile(descriptor, found)

    def upload(self, container: str, name: str, content_type: str) -> LocalUpload:
        """Begin to store a file; raise ContainerNotFound."""
        return LocalUpload(self, container, name)

    @contextmanager
    def opened(self, container: str) -> Iterator[int]:
        """Return the descriptor of a container's folder; raise ContainerNotFound."""
        with translated(ContainerNotFound(container)):
            folder = os.open(self._root / container, FOLDER | NO_LINK)
        with _closing(folder):
            yield folder

    @contextmanager
    def _container_of(self, container: str, name: str) -> Iterator[int]:
        """Return the folder of a file; raise FileNotFound if the container does not exist."""
        try:
            with self.opened(container) as folder:
                yield folder
        except ContainerNotFound:
            raise FileNotFound(name) from None


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def _page(folder: int, is_kind: Callable[[int], bool], after: str, start: Description) -> Listing:
    """Return a page of items of one kind in a folder; `start` is what each item begins with."""
    items: list[Description] = []
    # Only items in the page are sorted and read, because there may be very many.
    names = [name for name in os.listdir(folder) if name > after]
    heapify(names)
    while names and len(items) <= MAX_LISTED:
        name = heappop(names)
        # Items that were deleted meanwhile are left out.
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if is_name(name) and is_kind(found.st_mode):
                items.append({**start, "name": name, **_times(found)})
    page = items[:MAX_LISTED]
    return Listing(page, str(page[-1]["name"]) if len(items) > MAX_LISTED else None)


def _times(found: os.stat_result) -> Description:
    """Return what clients see of a file or folder."""
    return {
        "size": found.st_size,
        "atime": to_text(found.st_atime),
        "mtime": to_text(found.st_mtime),
        "ctime": to_text(found.st_ctime),
    }


def _remove_abandoned(folder: Path) -> None:
    """Remove files left by killed processes."""
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > ABANDONED:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
