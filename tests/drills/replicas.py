"""A standby that answers reads falls behind, is lost, stands still and becomes the primary."""

import os
import random
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from sqlalchemy import text

from tests.conftest import PASSWORD
from tests.support.databases import connected, migrate
from tests.support.live import serve
from tests.support.postgres import Cluster, cluster
from tests.support.waiting import eventually

from .load import TIMEOUT, Load, load
from .primary_lost import END_CONNECTIONS, replicate
from .report import Report

MAX_LAG = 0.5
# Seconds after which everybody sees a write: READ_MAX_LAG, two looks at the standbys, and some more
# on a busy machine.
SEEN_AFTER = MAX_LAG + 2
# Rows that were read from the table of to-dos, by this server.
READ = text("SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'todos'")
# A run of fewer seconds is the short form, in which a standby only falls behind and is promoted.
LONG = 10
# Seconds in which a standby is behind, and of one look at it that stands still.
BEHIND, STILL = SEEN_AFTER + 0.5, 2.5


@dataclass
class Onlooker:
    """Another session of the user: it reads what was written some time ago."""

    clients: Load
    read: int = 0
    refused: int = 0
    # What it was answered where it should have seen a to-do, as sentences.
    wrong: list[str] = field(default_factory=list)

    def watch(self, stop: threading.Event) -> None:
        """Read to-dos until it is stopped."""
        email = {"email": "ada@example.com", "password": PASSWORD}
        login = requests.post(f"{self.clients.url}/api/users/login", json=email, timeout=TIMEOUT)
        headers = {"Authorization": login.json()["id"]}
        known: deque[tuple[float, object]] = deque(maxlen=10_000)
        while not stop.wait(0.02):
            moment = time.monotonic()
            known += [(moment, row) for row in self._newest()]
            if old := [row for since, row in known if since < moment - SEEN_AFTER]:
                self._read(random.choice(old), headers)

    def _newest(self) -> list[object]:
        written = [list(client.acknowledged.values()) for client in self.clients.clients]
        return [rows[-1] for rows in written if rows]

    def _read(self, row: object, headers: dict[str, str]) -> None:
        url = f"{self.clients.url}/api/todos/{row}"
        answer = requests.get(url, headers=headers, timeout=TIMEOUT)
        if answer.status_code == 503:
            self.refused += 1
        elif answer.status_code == 200:
            self.read += 1
        else:
            self.wrong.append(f"to-do {row}: {answer.status_code} {answer.text!r}")


def run(seconds: float) -> Report:
    """Let the standby fail in each way under load, and promote it at last."""
    report = Report("replicas")
    with (
        tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root,
        cluster() as primary,
        cluster() as standby,
    ):
        url = replicate(primary, standby)
        migrate(url, Path(root))
        replicas = url.partition("&target_session_attrs")[0]
        settings = {"READ_DATABASE_URL": replicas, "APP_READ_MAX_LAG": f"{MAX_LAG:g}"}
        with serve(Path(root), url, **settings) as server, load(server.url) as clients:
            with _onlooker(clients) as onlooker:
                clients.goes_on()
                _is_asked(standby)
                for fail in FAILURES if seconds >= LONG else FAILURES[:1]:
                    time.sleep(seconds / 4)
                    fail(standby)
                    _is_asked(standby)
                report.none_may("writes refused without a standby", clients.titles("refused"))
                refused = clients.count("refused_reads") + onlooker.refused
                report.at_most("reads refused without a standby", refused, 0)
                _promote(primary, standby, clients)
                time.sleep(seconds / 4)
            clients.report_on(report)
            report.did("read by others", onlooker.read)
            report.none_may("not seen by others in time", onlooker.wrong)
            report.did("rows read on the old standby", _rows_read(standby))
            report.did("rows read on the new one", _rows_read(primary))
    return report


@contextmanager
def _onlooker(clients: Load) -> Iterator[Onlooker]:
    onlooker, stop = Onlooker(clients), threading.Event()
    thread = threading.Thread(target=onlooker.watch, args=(stop,))
    thread.start()
    try:
        yield onlooker
    finally:
        stop.set()
        thread.join()


def _rows_read(server: Cluster) -> int:
    with connected(server.url) as connection:
        return int(connection.execute(READ).scalar_one())


def _is_asked(standby: Cluster) -> None:
    """Wait until the standby answers further reads."""
    before = _rows_read(standby)
    eventually(lambda: _rows_read(standby) > before)


def _fall_behind(standby: Cluster) -> None:
    """Hold replay back for longer than a standby may be behind."""
    with connected(standby.url) as connection:
        connection.execute(text("SELECT pg_wal_replay_pause()"))
    time.sleep(BEHIND)
    with connected(standby.url) as connection:
        connection.execute(text("SELECT pg_wal_replay_resume()"))


def _stand_still(standby: Cluster) -> None:
    """Let no process of it go on; commits wait for it meanwhile, as it is synchronous."""
    frozen = standby.freeze()
    time.sleep(STILL)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)


def _lose(standby: Cluster) -> None:
    """Stop it without a warning, and start it again; commits wait meanwhile."""
    standby.stop("immediate")
    time.sleep(1)
    standby.start()


FAILURES = _fall_behind, _stand_still, _lose


def _promote(primary: Cluster, standby: Cluster, clients: Load) -> None:
    """Kill the primary, and let its standby take over, and the old one answer reads."""
    primary.kill()
    standby.promote()
    clients.goes_on()
    primary.follow(standby)
    primary.start()
    with connected(standby.url) as connection:
        connection.scalars(END_CONNECTIONS).all()
    clients.goes_on()
    _is_asked(primary)
