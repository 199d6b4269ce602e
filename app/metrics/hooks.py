"""gunicorn's hooks for the metrics, which do nothing without METRICS_ENABLED."""

from typing import TYPE_CHECKING

from gunicorn.arbiter import Arbiter

from app.state import AppState

if TYPE_CHECKING:
    from app.server.worker import BufferingWorker

    from .exposition import Metrics

# The library of the metrics is an extra: only the setting imports it.
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
    """Forget what only a living worker has."""
    if served := metrics.of(server.app.wsgi()):
        served.forget(worker.number)


def pre_exec(server: Arbiter) -> None:
    """Leave the port of the metrics to the master that replaces this one after SIGUSR2."""
    if served := metrics.of(server.app.wsgi()):
        server.cfg.env_orig.update(served.hand_over())


def on_exit(server: Arbiter) -> None:
    """Delete what was counted."""
    if served := metrics.of(server.app.wsgi()):
        served.close()
