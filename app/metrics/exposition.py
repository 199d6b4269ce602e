"""The HTTP server for metrics, on a separate port.

gunicorn's master opens the port before it forks, and each worker answers on a daemon thread. So
there is no extra process to supervise, and no thread in the master, which would be interrupted by
the fork. If a worker hangs, another one accepts the connection.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from http.server import HTTPServer
from pathlib import Path

from flask import Flask
from prometheus_client import CollectorRegistry, values
from prometheus_client.exposition import MetricsHandler
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from .catalog import Catalog
from .counting import BackgroundCollector, EventCounter, GaugeSampler, RequestCounter

# In memory: writing to a mapped file kills the process if the disk is full.
MEMORY = Path("/dev/shm")  # noqa: S108 its folders are made by mkdtemp
PREFIX = "ostiary-metrics-"
#: Seconds for Prometheus to send a request and to read the response.
CLIENT_TIMEOUT = 5.0
#: Seconds between two samples of a process's connections and hashes.
SAMPLE_INTERVAL = 1.0
# The environment variable with the open port's file descriptor when gunicorn replaces itself
# (SIGUSR2).
INHERITED = "OSTIARY_METRICS_FD"


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


class Metrics:
    """The metrics of a service: opened by gunicorn's master, served by each worker."""

    _listener: socket.socket
    _files: ProcessFiles
    _catalog: Catalog

    def __init__(self, app: Flask) -> None:
        self._app = app

    def open(self, service_ports: Collection[int]) -> None:
        """Open the port; exit if it is in use or is the service's own."""
        host, port = self._app.config["METRICS_HOST"], self._app.config["METRICS_PORT"]
        if port in service_ports:
            raise SystemExit(f"ostiary: METRICS_PORT is {port}, the port of the service")
        inherited = os.environ.pop(INHERITED, None)
        self._listener = socket.socket(fileno=int(inherited)) if inherited else _listen(host, port)
        self._files = ProcessFiles()
        self._catalog = Catalog()
        self._events = EventCounter(self._app, self._catalog)
        counter = RequestCounter(self._app.wsgi_app, self._catalog)
        self._app.wsgi_app = counter  # type: ignore[method-assign]
        # This process does not serve requests.
        self._files.forget(0)

    def serve(self, number: int) -> None:
        """Count and serve in this process as worker `number`."""
        self._files.count_as(number)
        registry = CollectorRegistry()
        registry.register(self._files)
        registry.register(BackgroundCollector(self._app))
        handler = type("Handler", (MetricsHandler,), {"registry": registry})
        sampler = GaugeSampler(self._app, self._catalog)
        server = ScrapeServer(self._app, self._listener, handler, sampler)
        arguments = {"poll_interval": SAMPLE_INTERVAL}
        threading.Thread(
            target=server.serve_forever, name="metrics", kwargs=arguments, daemon=True
        ).start()

    def hand_over(self) -> dict[str, str]:
        """Keep the port open for the program that replaces this one; return its environment."""
        self._listener.set_inheritable(True)
        return {INHERITED: str(self._listener.fileno())}

    def forget(self, number: int) -> None:
        """Remove the gauges of a worker that has ended."""
        self._files.forget(number)

    def close(self) -> None:
        """Close the port, and delete the files of the metrics."""
        self._listener.close()
        self._files.close()


class ScrapeServer(HTTPServer):
    """Answers one scrape at a time, and samples the process's gauges in between."""

    def __init__(
        self,
        app: Flask,
        listener: socket.socket,
        handler: type[MetricsHandler],
        sampler: GaugeSampler,
    ) -> None:
        handler.timeout = CLIENT_TIMEOUT
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._app = app
        self._sampler = sampler

    def service_actions(self) -> None:
        """Sample the gauges, at most once per SAMPLE_INTERVAL."""
        self._sampler.sample()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log the type of an error, because its text may quote the client."""
        self._app.logger.warning("metrics: %s", type(sys.exception()).__name__)


def _listen(host: str, port: int) -> socket.socket:
    """Open a port, or exit with a message."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SystemExit(
            f"ostiary: METRICS_HOST and METRICS_PORT cannot be used: {error.strerror}"
        ) from None
    # Several workers may be woken up by a connection that only one of them gets.
    listener.setblocking(False)
    return listener
