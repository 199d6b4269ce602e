"""Serving the metrics on a port of their own.

gunicorn's master opens the port before it forks, and each worker answers there on a daemon thread.
No process needs to be watched for it, and a thread of the master would be in the midst of something
when it forks. A worker that hangs takes no connection: another one answers.
"""

import os
import socket
import sys
import threading
from collections.abc import Collection
from http.server import HTTPServer
from typing import Any

from flask import Flask
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import MetricsHandler

from .catalog import Catalog
from .database import Outbox
from .events import EventCounter
from .gauges import Levels
from .processes import Processes
from .requests import RequestCounter

#: Seconds that Prometheus has to send a request and to read the answer.
CLIENT_TIMEOUT = 5.0
#: Seconds between two samples of a process's pool and hashes for metrics.
LEVELS_INTERVAL = 1.0
# The variable with the open port's file descriptor, when gunicorn replaces itself (SIGUSR2).
INHERITED = "OSTIARY_METRICS_FD"


class Metrics:
    """The metrics of a service: opened by gunicorn's master, then served by each worker."""

    _listener: socket.socket
    _processes: Processes
    _catalog: Catalog

    def __init__(self, app: Flask) -> None:
        self._app = app

    def open(self, service_ports: Collection[int]) -> None:
        """Open the port and begin; end the start for one that is in use, or is the service's."""
        host, port = self._app.config["METRICS_HOST"], self._app.config["METRICS_PORT"]
        if port in service_ports:
            raise SystemExit(f"ostiary: METRICS_PORT is {port}, the port of the service")
        inherited = os.environ.pop(INHERITED, None)
        self._listener = socket.socket(fileno=int(inherited)) if inherited else _listen(host, port)
        self._processes = Processes()
        self._catalog = Catalog()
        self._events = EventCounter(self._app, self._catalog)
        counter = RequestCounter(self._app.wsgi_app, self._catalog)
        self._app.wsgi_app = counter  # type: ignore[method-assign]
        # This process serves nothing.
        self._processes.forget(0)

    def serve(self, number: int) -> None:
        """Count and serve in this process, which is the worker with this number."""
        self._processes.become(number)
        registry = CollectorRegistry()
        registry.register(self._processes)
        registry.register(Outbox(self._app))
        handler = type("Handler", (MetricsHandler,), {"registry": registry})
        server = Exposition(self._app, self._listener, handler, Levels(self._app, self._catalog))
        arguments = {"poll_interval": LEVELS_INTERVAL}
        threading.Thread(
            target=server.serve_forever, name="metrics", kwargs=arguments, daemon=True
        ).start()

    def hand_over(self) -> dict[str, str]:
        """Keep the port open for the program that replaces this one; return its environment."""
        self._listener.set_inheritable(True)
        return {INHERITED: str(self._listener.fileno())}

    def forget(self, number: int) -> None:
        """Remove the levels of a worker that has ended."""
        self._processes.forget(number)

    def close(self) -> None:
        """Delete what the processes have counted."""
        self._listener.close()
        self._processes.close()


class Exposition(HTTPServer):
    """Answers one scrape at a time, and looks at the levels of its process between them."""

    def __init__(
        self, app: Flask, listener: socket.socket, handler: type[MetricsHandler], levels: Levels
    ) -> None:
        handler.timeout = CLIENT_TIMEOUT
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._app = app
        self._levels = levels

    def service_actions(self) -> None:
        """Update the levels, once in LEVELS_INTERVAL."""
        self._levels.update()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the type of an error, whose text may quote the client."""
        self._app.logger.warning("metrics: %s", type(sys.exception()).__name__)


def _listen(host: str, port: int) -> socket.socket:
    """Open a port, or end the start with one sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SystemExit(
            f"ostiary: METRICS_HOST and METRICS_PORT cannot be used: {error.strerror}"
        ) from None
    # Several workers see that there is a connection, and one gets it.
    listener.setblocking(False)
    return listener
