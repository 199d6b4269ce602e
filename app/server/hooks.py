"""gunicorn's hooks: what its master and its workers do when they start and end.

They keep the metrics, if METRICS_ENABLED. Those are imported where the setting switches them on,
and found among the app's extensions.
"""

from typing import Any

from .memory import limit_malloc


def on_starting(server: Any) -> None:
    """Limit the memory that is kept, and open the port of the metrics."""
    limit_malloc()
    if metrics := _metrics(server.app):
        metrics.open([each[1] for each in server.cfg.address if isinstance(each, tuple)])


def pre_fork(server: Any, worker: Any) -> None:
    """Give a worker the lowest number that no other one has."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = min(set(range(1, len(taken) + 2)) - taken)


def post_worker_init(worker: Any) -> None:
    """Serve the metrics in this worker too."""
    if metrics := _metrics(worker.app):
        metrics.serve(worker.number)


def child_exit(server: Any, worker: Any) -> None:
    """Forget what only a living worker has."""
    if metrics := _metrics(server.app):
        metrics.forget(worker.number)


def pre_exec(server: Any) -> None:
    """Leave the port of the metrics to the master that replaces this one after SIGUSR2."""
    if metrics := _metrics(server.app):
        server.cfg.env_orig.update(metrics.hand_over())


def on_exit(server: Any) -> None:
    """Delete what was counted."""
    if metrics := _metrics(server.app):
        metrics.close()


def _metrics(app: Any) -> Any:
    """Return the metrics of gunicorn's application, None without them."""
    return app.wsgi().extensions.get("metrics")
