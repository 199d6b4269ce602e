"""A database that cannot be written for a while."""

import os
import signal
import time
from pathlib import Path

from sqlalchemy import create_engine, make_url

from tests.support.live import Server, serve
from tests.support.postgres import is_own_server
from tests.support.waiting import eventually

from .load import load
from .places import Place, places
from .report import Report

# Takes from root what lets it write any file.
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def run(seconds: float) -> Report:
    """SQLite: the file belongs to others. PostgreSQL: the server is read-only."""
    report = Report("read_only")
    with places(*(["sqlite", "postgresql"] if is_own_server() else ["sqlite"])) as found:
        for place in found:
            _forbid_writes(place, seconds / len(found), report)
    return report


def _forbid_writes(place: Place, seconds: float, report: Report) -> None:
    launcher = UNPRIVILEGED if os.geteuid() == 0 and place.name == "sqlite" else ()
    with (
        serve(place.folder, place.url, launcher=launcher) as server,
        load(server.url) as clients,
    ):
        clients.goes_on()
        set_read_only = _set_read_only_sqlite if place.name == "sqlite" else _set_read_only_postgres
        set_read_only(place, server, True)
        eventually(lambda: clients.count("refused"))
        read = clients.count("read")
        time.sleep(seconds)
        eventually(lambda: clients.count("read") > read)
        set_read_only(place, server, False)
        clients.goes_on()
        report.did(f"{place.name} read while read-only", clients.count("read") - read)
        clients.report_on(report, f"{place.name} ")
        clients.none_refused_is_stored(report, f"{place.name} ")


def _set_read_only_sqlite(place: Place, server: Server, read_only: bool) -> None:
    """Change who may write the file, which matters to those who open it from now on."""
    Path(str(make_url(place.url).database)).chmod(0o400 if read_only else 0o600)
    if read_only:
        for pid in server.workers():
            os.kill(pid, signal.SIGKILL)


def _set_read_only_postgres(place: Place, _server: Server, read_only: bool) -> None:
    engine = create_engine(place.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        state = "on" if read_only else "off"
        connection.exec_driver_sql(f"ALTER SYSTEM SET default_transaction_read_only = {state}")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
    engine.dispose()
