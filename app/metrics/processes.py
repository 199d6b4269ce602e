"""Metrics of several processes, kept in files of one folder and added up when read."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

# In memory: writing to a mapped file kills the process if the disk is full.
MEMORY = Path("/dev/shm")  # noqa: S108 its folders are made by mkdtemp
PREFIX = "ostiary-metrics-"


class ProcessFiles(Collector):
    """The files with the metrics of a service's processes.

    Processes have numbers in place of ids, and a successor continues the files: otherwise each
    process that ever ran would leave files, and values of a label, behind.
    """

    def __init__(self) -> None:
        self._number = 0
        parent = MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        _remove_stale(parent)
        # A private folder, without old values or those of other services.
        self._folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = self._folder
        # The class of all values created from now on.
        values.ValueClass = values.MultiProcessValue(lambda: self._number)  # type: ignore[no-untyped-call]

    def count_as(self, number: int) -> None:
        """Count as worker `number`."""
        self._number = number
        # If the folder was deleted meanwhile, counting begins again instead of failing.
        os.makedirs(self._folder, mode=0o700, exist_ok=True)

    def forget(self, number: int) -> None:
        """Remove the gauges of worker `number`; its counters stay."""
        mark_process_dead(number, self._folder)  # type: ignore[no-untyped-call]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all processes together."""
        begun = filter(_is_begun, Path(self._folder).glob("*.db"))
        for metric in MultiProcessCollector.merge(begun):  # type: ignore[no-untyped-call]
            metric.samples = [
                sample._replace(labels=_with_process(sample.labels)) for sample in metric.samples
            ]
            yield metric

    def close(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _is_begun(file: Path) -> bool:
    """Return True if a file has content: the library cannot read one that it has just created."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        # The file of a process that has just ended.
        return False


def _with_process(labels: dict[str, str]) -> dict[str, str]:
    """Return labels with `process` for the library's `pid`, which is a worker's number here."""
    return {"process" if name == "pid" else name: value for name, value in labels.items()}


def _remove_stale(parent: Path) -> None:
    """Delete the folders of services that were killed."""
    for folder in parent.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdecimal() and folder.stat().st_uid == os.getuid() and not _lives(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
