"""The HTTP server for metrics, on a separate port.

gunicorn's master opens the port before it forks, and each worker answers on a daemon thread. So
there is no extra process to supervise, and no thread in the master, which would be interrupted by
the fork. If a worker hangs, another one accepts the connection.
"""

import os
import socket
import sys
import threading
from collections.abc import Collection
from http.server import HTTPServer

from flask import Flask
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import MetricsHandler

from .catalog import Catalog
from .counting import EventCounter, GaugeSampler, OutboxCollector, RequestCounter
from .processes import ProcessFiles

#: Seconds for Prometheus to send a request and to read the response.
CLIENT_TIMEOUT = 5.0
#: Seconds between two samples of a process's connections and hashes.
SAMPLE_INTERVAL = 1.0
# The environment variable with the open port's file descriptor when gunicorn replaces itself
# (SIGUSR2).
INHERITED = "OSTIARY_METRICS_FD"


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
        registry.register(OutboxCollector(self._app))
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
