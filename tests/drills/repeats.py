"""kill -9 of workers, and of the service, while clients send each request until it is done."""

import time
from dataclasses import dataclass
from uuid import uuid4

from tests.support.live import serve
from tests.support.waiting import wait_as_told

from .kills import kill_both, run_on_each_place
from .load import Client, load
from .places import Place
from .report import Report

# Claims of killed processes end after some seconds.
SETTINGS = {
    "APP_IDEMPOTENCY_TTL": "3600",
    "APP_STATEMENT_TIMEOUT": "1",
    "APP_PASSWORD_HASH_WAIT": "1",
}
# What is sent again: no answer, one that tells to wait, and errors of a service that was killed.
NOT_DONE = {409, 503}


@dataclass
class PersistentClient(Client):
    """A client that sends each request with a key, and again until it is done."""

    repeated: int = 0
    replayed: int = 0

    def write(self, title: str) -> bool:
        """Create a to-do; return True."""
        key, todo = {"Idempotency-Key": f'"{uuid4()}"'}, {"title": title, "desc": title}
        while True:
            answer = self._send("POST", "/api/todos", json=todo, headers=key)
            if answer is not None and answer.status_code not in NOT_DONE:
                break
            self.repeated += 1
            wait_as_told(None if answer is None else answer.headers["Retry-After"])
        self.replayed += "Idempotency-Replayed" in answer.headers
        if self._is_right(answer, title):
            self.acknowledged[title] = answer.json()["id"]
            self.moments.append(time.monotonic())
        return title in self.acknowledged


def run(seconds: float) -> Report:
    """On each database, kill workers for half of the time, and the service for the other half."""
    return run_on_each_place("repeats", seconds, _kill_under_load)


def _kill_under_load(place: Place, seconds: float, report: Report) -> None:
    prefix = f"{place.name} "
    with (
        serve(place.folder, place.url, **SETTINGS) as server,
        load(server.url, kind=PersistentClient) as clients,
    ):
        kill_both(server, clients, seconds, report, prefix)
        report.note(f"{prefix}repeated", clients.count("repeated"))
        report.note(f"{prefix}replayed", clients.count("replayed"))
