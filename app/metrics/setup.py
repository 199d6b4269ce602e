"""Setup of metrics, whose library is an extra, and gunicorn's hooks, without effect if off."""

from importlib import import_module
from typing import TYPE_CHECKING

from flask import Flask
from gunicorn.arbiter import Arbiter

from app.state import AppState

if TYPE_CHECKING:
    from app.server.worker import BufferingWorker

    from .exposition import Metrics

# The library is an extra, and only imported if metrics are enabled.
metrics: "AppState[Metrics | None]" = AppState("metrics", factory=lambda _app: None)


def on_starting(server: Arbiter) -> None:
    """Open the port of the metrics."""
    if served := metrics.of(server.app.wsgi()):
        served.open([address[1] for address in server.cfg.address if isinstance(address, tuple)])


def post_worker_init(worker: "BufferingWorker") -> None:
    """Serve the metrics in this worker too."""
    if served := metrics.of(worker.app.wsgi()):
        served.serve(worker.number)


def child_exit(server: Arbiter, worker: "BufferingWorker") -> None:
    """Remove the gauges of a worker that has ended."""
    if served := metrics.of(server.app.wsgi()):
        served.forget(worker.number)


def pre_exec(server: Arbiter) -> None:
    """Keep the metrics port for the master that replaces this one after SIGUSR2."""
    if served := metrics.of(server.app.wsgi()):
        server.cfg.env_orig.update(served.hand_over())


def on_exit(server: Arbiter) -> None:
    """Delete the metrics' files."""
    if served := metrics.of(server.app.wsgi()):
        served.close()


def init_app(app: Flask) -> None:
    """Prepare the metrics that gunicorn's hooks open; commands and other servers count nothing."""
    metrics.set(app, import_module("app.metrics.exposition").Metrics(app))
