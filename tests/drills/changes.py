"""A hundred followers of changes, while processes are killed, and PostgreSQL fails over.

Each follower must be sent every acknowledged change that it may see, and none of another user, or
be told to read its rows anew.
"""

import signal
import tempfile
import time
from pathlib import Path

from tests.definitions.conftest import running_a_command
from tests.support import processes
from tests.support.databases import migrate
from tests.support.live import serve
from tests.support.postgres import cluster

from .followers import Following, following
from .kills import kill_a_worker, kill_repeatedly, kill_the_service
from .places import Place, places
from .primary_lost import replicate
from .report import Report

SETTINGS = {"APP_CHANGES": '["todos"]', "APP_ID_TYPE": "uuid"}
WATCHED = {"CHANGES": ["todos"], "ID_TYPE": "uuid"}
# Seconds for writes that the standby does not receive.
HELD_BACK = 1


def run(seconds: float) -> Report:
    """Kill processes on each database, fail over, and fail over with a loss of transactions."""
    report = Report("changes")
    # What migrates starts without the triggers that it makes.
    with running_a_command(), places(**WATCHED) as found:
        for place in found:
            _kill(place, seconds / len(found) / 2, report)
    for name, is_lossy in (("failover ", False), ("loss ", True)):
        _fail_over(seconds / 2, report, name, is_lossy)
    return report


def _kill(place: Place, seconds: float, report: Report) -> None:
    prefix = f"{place.name} "
    with serve(place.folder, place.url, **SETTINGS) as server, following(server.url) as clients:
        clients.goes_on()
        workers = kill_repeatedly(seconds, clients, lambda: kill_a_worker(server))
        services = kill_repeatedly(seconds, clients, lambda: kill_the_service(server))
        report.did(f"{prefix}workers killed", workers)
        report.did(f"{prefix}services killed", services)
        clients.report_on(report, prefix)
        resynced = [each.writer.email for each in clients.followers if each.resyncs]
        report.none_may(f"{prefix}resyncs without a failover", resynced)


def _fail_over(seconds: float, report: Report, prefix: str, is_lossy: bool) -> None:
    """Kill the primary and promote the standby, which may not have received the last commits."""
    with (
        tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root,
        cluster() as primary,
        cluster() as standby,
    ):
        url = replicate(primary, standby, "" if is_lossy else "*")
        with running_a_command():
            migrate(url, Path(root), **WATCHED)
        with serve(Path(root), url, **SETTINGS) as server, following(server.url) as clients:
            clients.goes_on()
            time.sleep(seconds / 2)
            if is_lossy:
                processes.send(signal.SIGSTOP, primary.folder, "walsender")
                time.sleep(HELD_BACK)
            primary.kill()
            standby.promote()
            clients.goes_on()
            time.sleep(seconds / 2)
            clients.report_on(report, prefix)
    lost = clients.lost()
    if is_lossy:
        report.did(f"{prefix}acknowledged and lost", len(lost))
    else:
        report.none_may(f"{prefix}acknowledged and lost", lost)
    untold = [each.writer.email for each in clients.followers if not each.resyncs]
    report.none_may(f"{prefix}followers without a resync", untold)
