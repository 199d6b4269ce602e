"""A full disk: first the one of the log and the mails, then that of the database."""

import tempfile
import time
from pathlib import Path

import requests

from tests.conftest import PASSWORD
from tests.support.databases import migrate
from tests.support.live import serve
from tests.support.postgres import is_own_server, move_tables, postgres_server
from tests.support.waiting import eventually

from .disks import Disk, FileLimit, small_disk
from .load import Load, load
from .report import Report

BOB = {"email": "bob@example.com", "password": PASSWORD}
RESETS = 3


def run(seconds: float) -> Report:
    """Fill the disks of the service, and that of PostgreSQL's tables.

    Without the right to mount disks it is only SQLite's, by a limit of the sizes of files. A
    server of PostgreSQL that is given cannot get another disk.
    """
    report = Report("full_disk")
    with tempfile.TemporaryDirectory(prefix="ostiary-drill-") as root:
        # PostgreSQL, as another user, passes through.
        Path(root).chmod(0o711)
        _fill_sqlite(Path(root), seconds / 2, report)
        _fill_postgresql(Path(root), seconds / 2, report)
    return report


def _fill_sqlite(root: Path, seconds: float, report: Report) -> None:
    url = f"sqlite:///{root}/database/ostiary.sqlite"
    with small_disk(root / "database") as disk, small_disk(root / "files") as files:
        migrate(url, root)
        with serve(root / "files", url) as server, load(server.url) as clients:
            if files is not None:
                _fill_files(files, clients, seconds / 2, report)
            _fill_database(disk or FileLimit(server), clients, seconds / 2, report, "sqlite")


def _fill_postgresql(root: Path, seconds: float, report: Report) -> None:
    """Fill the disk of the tables; the log of transactions, without which it ends, is elsewhere."""
    with small_disk(root / "tables") as disk, postgres_server() as url:
        if disk is None or not is_own_server():
            return
        migrate(url, root)
        move_tables(url, disk.folder)
        with serve(root, url) as server, load(server.url) as clients:
            _fill_database(disk, clients, seconds, report, "postgresql")


def _fill_database(
    room: Disk | FileLimit, clients: Load, seconds: float, report: Report, name: str
) -> None:
    """Without room for the database writes are refused, as a whole, and reads are answered."""
    clients.goes_on()
    room.fill()
    eventually(lambda: clients.count("refused"))
    read = clients.count("read")
    time.sleep(seconds)
    eventually(lambda: clients.count("read") > read)
    report.did(f"{name} read while full", clients.count("read") - read)
    status = _register(clients)
    room.free()
    clients.goes_on()
    # There may have been room in the tables; if not, there is no half of a user.
    report.require(
        (status, _register(clients)) in {(503, 200), (200, 422)}, f"{name} user: {status}"
    )
    clients.report_on(report, f"{name} ")
    clients.none_refused_is_stored(report, f"{name} ")


def _fill_files(disk: Disk, clients: Load, seconds: float, report: Report) -> None:
    """Without room for the log and the mails every request is answered; mails are sent later."""
    mails = disk.folder / "instance" / "mail"
    answered = clients.count("read")
    disk.fill()
    for _ in range(RESETS):
        reset = {"email": "ada@example.com"}
        requests.post(f"{clients.url}/api/users/reset", json=reset, timeout=60).raise_for_status()
    time.sleep(seconds)
    clients.goes_on()
    report.did("answered without log", clients.count("read") - answered)
    report.none_may("refused without log", clients.titles("refused"))
    report.none_may("unanswered without log", clients.titles("unanswered"))
    # An attempt in progress has a file for a moment, each attempt another one.
    before = {*mails.iterdir()}
    time.sleep(1)
    report.none_may("files of mails without room", sorted(before & {*mails.iterdir()}))
    disk.free()
    eventually(lambda: len(list(mails.glob("*.eml"))) == RESETS)
    report.did("mails once there was room", RESETS)


def _register(clients: Load) -> int:
    """Create a user with records beside, in one transaction; return the status."""
    return requests.post(f"{clients.url}/api/users", json=BOB, timeout=60).status_code
