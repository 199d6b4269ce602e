"""Small disks that can be filled: in memory where they can be mounted, else a limit of file sizes.

Mounting needs the rights of root, which a container may not have.
"""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.live import Server

# Of a disk; PostgreSQL's tables, empty, take half of it.
BYTES = 16 * 1024 * 1024


@dataclass
class Disk:
    """A mounted disk."""

    folder: Path

    def fill(self) -> None:
        """Leave not one byte."""
        with (self.folder / "filler").open("ab", buffering=0) as filler:
            for size in (1024 * 1024, 4096, 1):
                try:
                    while filler.write(bytes(size)):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """Leave as much as before."""
        (self.folder / "filler").unlink()


@dataclass
class FileLimit:
    """A service whose files have a limit."""

    server: Server

    def fill(self) -> None:
        """Let its processes, and those that follow, write no byte into any file."""
        self._limit(0)

    def free(self) -> None:
        """Let them write."""
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, size: int) -> None:
        for pid in (self.server.process.pid, *self.server.workers()):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk | None]:
    """Mount a small disk on a new folder; yield None if that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "none", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
