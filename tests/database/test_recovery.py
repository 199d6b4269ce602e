"""A server restored to a second, by the files and commands that docs/postgresql.md prints."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import requests

from app.outbox.delivery import drain
from app.testing.apps import close
from tests.conftest import PASSWORD
from tests.support.apps import build
from tests.support.databases import connected, migrate
from tests.support.documents import blocks
from tests.support.live import newcomer, serve_app
from tests.support.postgres import cluster
from tests.support.postgres_host import CRON, DOCUMENT, Host
from tests.support.programs import require
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

SET_UP, RESTORE, AFTER = "Backups and their archive", "Restore to a second", "After a restore"
# Seconds between two writes.
PACE = 0.01
ADA = {"email": "ada@example.com", "password": PASSWORD}


@dataclass
class Writer:
    """A client that creates one to-do after the other, and notes when."""

    url: str
    headers: dict[str, str]
    # When each was sent, and when its answer came, by title.
    sent: dict[str, datetime] = field(default_factory=dict)
    acknowledged: dict[str, datetime] = field(default_factory=dict)

    def write_until(self, stop: threading.Event) -> None:
        """Write until it is stopped."""
        with requests.Session() as session:
            session.headers.update(self.headers)
            while not stop.wait(PACE):
                title = str(len(self.sent))
                self.sent[title] = datetime.now(UTC)
                answer = session.post(f"{self.url}/api/todos", json={"title": title}, timeout=60)
                answer.raise_for_status()
                self.acknowledged[title] = datetime.now(UTC)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Write on a thread until the end of the block."""
        stop = threading.Event()
        thread = threading.Thread(target=self.write_until, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def pass_second(self) -> datetime:
        """Return the next full second, once there are writes before and after it."""
        eventually(lambda: self.acknowledged)
        second = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
        eventually(lambda: max(list(self.sent.values())) > second)
        return second

    def compare(self, titles: set[str], second: datetime) -> None:
        """Compare what is there with what was acknowledged until a second and sent after it."""
        before = {title for title, moment in self.acknowledged.items() if moment <= second}
        after = {title for title, moment in self.sent.items() if moment > second}
        assert before
        assert after
        assert before <= titles
        assert not after & titles


@pytest.fixture
def host():
    require("pgbackrest")
    with cluster() as server:
        host = Host(server)
        host.prepare()
        yield host


@pytest.fixture
def app(host, tmp_path):
    migrate(host.url, tmp_path)
    app = build(host.url, tmp_path / "mail", OUTBOX_IN_PROCESS=False)
    yield app
    close(app)


def test_a_server_is_restored_to_a_second_and_then_to_another(host, app, tmp_path):
    back_up(host)
    with serve_app(app) as url:
        writer = Writer(url, newcomer(url))
        requests.post(f"{url}/api/users/reset", json=ADA, timeout=60).raise_for_status()
        with writer.working():
            seconds = [writer.pass_second(), writer.pass_second()]
        requests.post(f"{url}/api/users/logout", headers=writer.headers, timeout=60)
    assert drain(app)["delivered"] == 1
    targets = [f"{second:%Y-%m-%d %H:%M:%S}+00" for second in seconds]
    keep_records, restore, restore_again = blocks(DOCUMENT, "sh", RESTORE)

    host.run(keep_records, TARGET=targets[0])
    host.run(restore, TARGET=targets[0])
    with serve_app(app) as url:
        writer.compare(stored_titles(url, writer.headers), seconds[0])
    sent_again = drain(app)
    host.run(restore_again, TARGET=targets[1])
    with serve_app(app) as url:
        writer.compare(stored_titles(url, writer.headers), seconds[1])

    [logout, *_] = json.loads(host.path("var/backups/ostiary/undone.json").read_text())
    assert logout["action"] == "logout"
    assert sent_again == {"delivered": 1}
    go_on(host, app, len(writer.sent))


def back_up(host):
    """Follow the document until there is a backup; what cron does later, the test does, too."""
    install, begin = blocks(DOCUMENT, "sh", SET_UP)
    host.run(install)
    host.write_files()
    kept = host.run(begin)

    assert "full backup: " in kept
    executed = [begin, *blocks(DOCUMENT, "sh", AFTER)]
    regular = re.findall(r" postgres (.*)$", host.path(CRON).read_text(), re.MULTILINE)
    assert [command in code for command, code in zip(regular, executed, strict=True)] == [True] * 2


def stored_titles(url, headers):
    """Return the titles of all to-dos of a user, whose session was ended after the moment."""
    query = {"filter[limit]": 1000}
    answer = requests.get(f"{url}/api/todos", query, headers=headers, timeout=60)
    answer.raise_for_status()
    return {todo["title"] for todo in answer.json()}


def go_on(host, app, number):
    """Execute what the document prints for after a restore; look for what it undoes."""
    [statements] = blocks(DOCUMENT, "sql", AFTER)
    with connected(host.url) as connection:
        sessions = connection.exec_driver_sql("SELECT count(*) FROM access_tokens").scalar_one()
        connection.connection.driver_connection.execute(statements)
        left = connection.exec_driver_sql("SELECT count(*) FROM access_tokens").scalar_one()
    with serve_app(app) as url:
        login = requests.post(f"{url}/api/users/login", json=ADA, timeout=60).json()
        headers = {"Authorization": login["id"]}
        todo = requests.post(f"{url}/api/todos", json={"title": "a"}, headers=headers, timeout=60)
    host.run(blocks(DOCUMENT, "sh", AFTER)[0])

    assert (sessions > 0, left) == (True, 0)
    assert todo.json()["id"] > number
    assert drain(app) == {}
