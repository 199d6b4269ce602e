"""PostgreSQL stopped and started again, while clients write."""

import tempfile
import time
from pathlib import Path

from tests.support.databases import migrate
from tests.support.live import serve
from tests.support.postgres import Cluster, cluster

from .load import Load, load
from .report import Report

# How it is stopped, as an administrator does or by a crash, and for how many seconds it stays down.
WAYS = (("fast", 0.5), ("immediate", 0.0), ("fast", 0.0), ("immediate", 0.5))
# Times that it is stopped at least.
RESTARTS = 2
# Requests are answered again within so many seconds of PostgreSQL's start, on a busy machine too.
MAX_RECOVERY = 30


def run(seconds: float) -> Report:
    """Stop and start PostgreSQL again and again, in one way after the other."""
    report = Report("postgres_restart")
    with tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root, cluster() as postgres:
        folder = Path(root)
        postgres.create()
        postgres.start()
        migrate(postgres.url, folder)
        with serve(folder, postgres.url) as server:
            with load(server.url) as clients:
                recoveries = _restart_repeatedly(seconds, postgres, clients)
            report.did("restarts", len(recoveries))
            report.at_most("slowest recovery in s", round(max(recoveries), 2), MAX_RECOVERY)
            clients.report_on(report)
            report.did("refused while down", clients.count("refused"))
            report.none_may("unanswered while down", clients.titles("unanswered"))
    return report


def _restart_repeatedly(seconds: float, postgres: Cluster, clients: Load) -> list[float]:
    """Return how long each recovery took: until every client's writes succeed."""
    end, recoveries = time.monotonic() + seconds, list[float]()
    while time.monotonic() < end or len(recoveries) < RESTARTS:
        mode, down = WAYS[len(recoveries) % len(WAYS)]
        clients.goes_on()
        postgres.stop(mode)
        time.sleep(down)
        postgres.start()
        started = time.monotonic()
        clients.goes_on()
        recoveries.append(time.monotonic() - started)
    return recoveries
