"""gunicorn's hooks: what its master and its workers do when they start and end.

They keep the metrics, if METRICS_ENABLED. Those are imported where the setting switches them on,
and found among the app's extensions.
"""

from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from .memory import limit_malloc

if TYPE_CHECKING:
    from .worker import BufferingWorker


def on_starting(server: Arbiter) -> None:
    """Limit the memory that is kept, and open the port of the metrics."""
    limit_malloc()
    if metrics := _metrics(server.app):
        metrics.open([address[1] for address in server.cfg.address if isinstance(address, tuple)])


def pre_fork(server: Arbiter, worker: "BufferingWorker") -> None:
    """Give a worker the lowest number that no other one has."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = min(set(range(1, len(taken) + 2)) - taken)


def post_worker_init(worker: "BufferingWorker") -> None:
    """Serve the metrics in this worker too."""
    if metrics := _metrics(worker.app):
        metrics.serve(worker.number)


def child_exit(server: Arbiter, worker: "BufferingWorker") -> None:
    """Forget what only a living worker has."""
    if metrics := _metrics(server.app):
        metrics.forget(worker.number)


def pre_exec(server: Arbiter) -> None:
    """Leave the port of the metrics to the master that replaces this one after SIGUSR2."""
    if metrics := _metrics(server.app):
        server.cfg.env_orig.update(metrics.hand_over())


def on_exit(server: Arbiter) -> None:
    """Delete what was counted."""
    if metrics := _metrics(server.app):
        metrics.close()


def _metrics(app: BaseApplication) -> Any:
    """Return the metrics of gunicorn's application, None without them."""
    return app.wsgi().extensions.get("metrics")
