"""A hundred followers of changes, while a standby takes over, which may lack the last commits.

Each follower is told to read its rows anew, and then has those that the new primary has.
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

from .followers import SETTINGS, WATCHED, following
from .primary_lost import replicate
from .report import Report

# Seconds for writes that the standby does not receive.
HELD_BACK = 2


def run(seconds: float) -> Report:
    """Fail over to a standby that has all commits, and to one that lacks the last ones."""
    report = Report("changes_failover")
    for prefix, is_lossy in (("whole ", False), ("lossy ", True)):
        _fail_over(seconds / 4, report, prefix, is_lossy)
    return report


def _fail_over(seconds: float, report: Report, prefix: str, is_lossy: bool) -> None:
    """Kill the primary and promote the standby; write for so long before and after."""
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
            time.sleep(seconds)
            if is_lossy:
                processes.send(signal.SIGSTOP, primary.folder, "walsender")
                time.sleep(HELD_BACK)
            primary.kill()
            standby.promote()
            clients.goes_on()
            time.sleep(seconds)
            clients.report_on(report, prefix)
    lost = clients.lost()
    if is_lossy:
        report.did(f"{prefix}acknowledged and lost", len(lost))
        # Rows go back to what the new primary has; what is sent of them may come before the resync.
        report.note(f"{prefix}out of order", len(clients.all("out_of_order")))
    else:
        report.none_may(f"{prefix}acknowledged and lost", lost)
        report.none_may(f"{prefix}out of order", clients.all("out_of_order"))
    untold = [each.writer.email for each in clients.followers if not each.resyncs]
    report.none_may(f"{prefix}followers without a resync", untold)
