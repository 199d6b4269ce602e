"""gunicorn's hooks: what its master and its workers do when they start and end.

They keep the metrics, if METRICS_ENABLED: the setting imports those, and sets `metrics`.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from gunicorn.arbiter import Arbiter

from app.state import AppState

from .memory import limit_malloc

if TYPE_CHECKING:
    from .worker import BufferingWorker


class MetricsServer(Protocol):
    """The metrics of a service, of all its processes."""

    def open(self, service_ports: Collection[int]) -> None:
        """Open the port, in the master."""
        ...

    def serve(self, number: int) -> None:
        """Count and answer in this process, the worker with this number."""
        ...

    def forget(self, number: int) -> None:
        """Forget what only the living worker with this number has."""
        ...

    def hand_over(self) -> Mapping[str, str]:
        """Leave the port to the master that replaces this one; return its environment."""
        ...

    def close(self) -> None:
        """Delete what was counted."""
        ...


metrics = AppState[MetricsServer | None]("metrics", factory=lambda _app: None)


def on_starting(server: Arbiter) -> None:
    """Limit the memory that is kept, and open the port of the metrics."""
    limit_malloc()
    if served := metrics.of(server.app.wsgi()):
        served.open([address[1] for address in server.cfg.address if isinstance(address, tuple)])


def pre_fork(server: Arbiter, worker: "BufferingWorker") -> None:
    """Give a worker the lowest number that no other one has."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = min(set(range(1, len(taken) + 2)) - taken)


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
