"""The primary of two PostgreSQL servers killed, while clients write, and the standby promoted."""

import tempfile
import time
from pathlib import Path

from sqlalchemy import text

from tests.support.databases import connected, migrate
from tests.support.live import serve
from tests.support.postgres import Cluster, cluster

from .load import Load, load
from .report import Report

# Requests are answered again within so many seconds of the loss, on a busy machine too.
MAX_RECOVERY = 30
REPLICATION = text("SELECT sync_state FROM pg_stat_replication")
# Those that have sent a query: a standby is also asked what it is, and left again.
CLIENTS_CONNECTED = text(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid != pg_backend_pid() AND query != ''"
)
END_CONNECTIONS = text(
    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid != pg_backend_pid()"
)


def run(seconds: float) -> Report:
    """Kill the primary, promote the standby, and let the old primary return as a standby."""
    report = Report("primary_lost")
    with (
        tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root,
        cluster() as primary,
        cluster() as standby,
    ):
        folder = Path(root)
        url = replicate(primary, standby)
        migrate(url, folder)
        with connected(primary.url) as connection:
            states = connection.scalars(REPLICATION).all()
        report.require(states == ["sync"], f"the replication is not synchronous: {states}")
        with serve(folder, url) as server:
            with load(server.url) as clients:
                clients.goes_on()
                time.sleep(seconds / 2)
                recovery = _fail_over(primary, standby, clients)
                _return_as_standby(primary, standby, clients, report)
                time.sleep(seconds / 2)
            report.at_most("recovery in s", round(recovery, 2), MAX_RECOVERY)
            clients.report_on(report)
    return report


def replicate(primary: Cluster, standby: Cluster, synchronous: str = "*") -> str:
    """Start both; return the URL that names both.

    Each commit waits for the standby, unless `synchronous` names none.
    """
    primary.create()
    primary.start(synchronous_standby_names=synchronous)
    standby.follow(primary)
    standby.start()
    hosts = "&".join(f"host={server.folder}:5432" for server in (primary, standby))
    return f"postgresql+psycopg://ostiary@/postgres?{hosts}&target_session_attrs=read-write"


def _fail_over(primary: Cluster, standby: Cluster, clients: Load) -> float:
    """Kill the primary and promote the standby; return the seconds until writes succeed."""
    lost = time.monotonic()
    primary.kill()
    standby.promote()
    clients.goes_on()
    return time.monotonic() - lost


def _return_as_standby(old: Cluster, new: Cluster, clients: Load, report: Report) -> None:
    """Start the old primary as a standby, the first host of the URL; nobody must stay with it."""
    old.follow(new)
    old.start()
    with connected(new.url) as connection:
        ended = connection.scalars(END_CONNECTIONS).all()
    clients.goes_on()
    with connected(old.url) as connection:
        stayed = connection.scalars(CLIENTS_CONNECTED).all()
    report.did("connections ended", len(ended))
    report.none_may("connections to the old primary", stayed)
