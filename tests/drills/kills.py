"""kill -9 of workers, and of the whole service, while clients write."""

import os
import random
import signal
import time
from collections.abc import Callable

from tests.support.live import Server, serve

from .load import Load, load
from .places import Place, places
from .report import Report

# Kills for so many seconds each under the load of a place.
KillUnderLoad = Callable[[Place, float, Report], None]


def run(seconds: float) -> Report:
    """On each database, kill workers for half of the time, and the service for the other half."""
    return run_on_each_place("kills", seconds, _kill_under_load)


def run_on_each_place(name: str, seconds: float, kill: KillUnderLoad) -> Report:
    """Return the report of a drill that kills workers for a while, and the service for as long."""
    report = Report(name)
    with places() as found:
        for place in found:
            kill(place, seconds / len(found) / 2, report)
    return report


def _kill_under_load(place: Place, seconds: float, report: Report) -> None:
    with serve(place.folder, place.url) as server, load(server.url) as clients:
        kill_both(server, clients, seconds, report, f"{place.name} ")


def kill_both(server: Server, clients: Load, seconds: float, report: Report, prefix: str) -> None:
    """Kill workers for so many seconds, then the service, and report on both and the clients."""
    workers = kill_repeatedly(seconds, clients, lambda: kill_a_worker(server))
    services = kill_repeatedly(seconds, clients, lambda: kill_the_service(server))
    report.did(f"{prefix}workers killed", workers)
    report.did(f"{prefix}services killed", services)
    clients.report_on(report, prefix)


def kill_repeatedly(seconds: float, clients: Load, kill: Callable[[], None]) -> int:
    """Kill again and again, each time once the service answers; return how often."""
    end, kills = time.monotonic() + seconds, 0
    while time.monotonic() < end or not kills:
        kill()
        kills += 1
        clients.goes_on()
    return kills


def kill_a_worker(server: Server) -> None:
    os.kill(random.choice(server.workers()), signal.SIGKILL)


def kill_the_service(server: Server) -> None:
    server.kill()
    server.start()
