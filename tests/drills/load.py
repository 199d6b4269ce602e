"""Clients that write and read to-dos, and remember what they were answered."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import requests

from tests.support.live import newcomer
from tests.support.waiting import eventually

from .report import Report

CLIENTS = 4
# Seconds for an answer; more than any may take.
TIMEOUT = 60
# Seconds that a client waits after each to-do, so that what is started again gets its share of the
# machine; and after a request that was not answered or was refused.
PACE, PAUSE = 0.02, 0.1
# Statuses of a proxy that got no answer from the service.
NO_ANSWER = {502, 504}
PAGE = 1000


@dataclass
class Client:
    """One client on a connection that it keeps: it writes to-dos and reads the last one again."""

    name: str
    url: str
    session: requests.Session
    # The ids of acknowledged to-dos by their titles.
    acknowledged: dict[str, Any] = field(default_factory=dict)
    # The titles of those that were answered with 503, and of those that got no answer.
    refused: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    read: int = 0
    refused_reads: int = 0
    unanswered_reads: int = 0
    # When each was acknowledged.
    moments: list[float] = field(default_factory=list)
    # How long each answer took, or the client waited in vain.
    seconds: list[float] = field(default_factory=list)
    # What was answered wrongly, as sentences.
    wrong: list[str] = field(default_factory=list)

    def work(self, stop: threading.Event) -> None:
        """Write and read until it is stopped."""
        number, last = 0, None
        while not stop.is_set():
            title = f"{self.name}.{number}"
            number += 1
            written = self.write(title)
            last = title if written else last
            went_well = last and self.read_back(last) and written
            stop.wait(PACE if went_well else PAUSE)

    def write(self, title: str) -> bool:
        """Create a to-do; return whether it was acknowledged."""
        answer = self._send("POST", "/api/todos", json={"title": title, "desc": title})
        if answer is None:
            self.unanswered.append(title)
        elif answer.status_code == 503:
            self.refused.append(title)
        elif self._is_right(answer, title):
            self.acknowledged[title] = answer.json()["id"]
            self.moments.append(time.monotonic())
        return title in self.acknowledged

    def read_back(self, title: str) -> bool:
        """Read an acknowledged to-do; return whether the service answered it."""
        answer = self._send("GET", f"/api/todos/{self.acknowledged[title]}")
        if answer is None:
            self.unanswered_reads += 1
        elif answer.status_code == 503:
            self.refused_reads += 1
        elif self._is_right(answer, title):
            self.read += 1
            return True
        return False

    def _send(self, method: str, path: str, **options: Any) -> requests.Response | None:
        """Send a request once; return the answer, None if there is none."""
        sent = time.monotonic()
        try:
            answer = self.session.request(method, self.url + path, timeout=TIMEOUT, **options)
        except requests.RequestException:
            return None
        finally:
            self.seconds.append(time.monotonic() - sent)
        if answer.status_code in NO_ANSWER:
            return None
        if answer.status_code == 503 and not is_refusal(answer):
            self.wrong.append(f"{method} 503 {answer.text!r}")
        return answer

    def _is_right(self, answer: requests.Response, title: str) -> bool:
        """Tell whether an answer shows the to-do of this title."""
        body = answer.json() if answer.status_code == 200 else {}
        right = body.get("title") == body.get("desc") == title
        if not right:
            self.wrong.append(f"{answer.request.method} {answer.status_code} {answer.text!r}")
        return right


def is_refusal(answer: requests.Response) -> bool:
    """Tell whether a 503 has the shape of all errors and says when to try again."""
    body = answer.json()
    inner = {"statusCode": 503, "message": body["message"]}
    return (
        body["status"] == 503
        and inner.items() <= body["error"].items()
        and int(answer.headers["Retry-After"]) > 0
    )


class Load:
    """All clients of one user."""

    def __init__(self, url: str, clients: int, email: str, kind: type[Client] = Client) -> None:
        self.url = url
        self.headers = newcomer(url, email)
        self.clients = [kind(f"{number}", url, requests.Session()) for number in range(clients)]
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=client.work, args=(self._stop,)) for client in self.clients
        ]

    def start(self) -> None:
        """Let the clients begin."""
        for client, thread in zip(self.clients, self._threads, strict=True):
            client.session.headers.update(self.headers)
            thread.start()

    def stop(self) -> None:
        """Let the clients finish what they do."""
        self._stop.set()
        for client, thread in zip(self.clients, self._threads, strict=True):
            thread.join()
            client.session.close()

    def titles(self, what: str) -> list[str]:
        """Return the titles of to-dos that were "acknowledged", "refused" or "unanswered"."""
        return [title for client in self.clients for title in list(getattr(client, what))]

    def count(self, what: str) -> int:
        """Add up an attribute of all clients: a number, or the length of a list."""
        values = [getattr(client, what) for client in self.clients]
        return sum(value if isinstance(value, int) else len(value) for value in values)

    def slowest(self, share: float = 0.99) -> float:
        """Return the seconds within which this share of all requests was answered."""
        seconds = sorted(value for client in self.clients for value in client.seconds)
        return seconds[min(int(len(seconds) * share), len(seconds) - 1)]

    def longest_pause(self) -> float:
        """Return the most seconds between two writes of a client that were acknowledged."""
        return max(
            later - earlier
            for client in self.clients
            for earlier, later in pairwise(client.moments)
        )

    def goes_on(self) -> None:
        """Wait until each client has had a write acknowledged that it sends from now on."""
        for client in self.clients:
            # The one that may be under way, and another one.
            enough = len(client.acknowledged) + 2
            eventually(lambda: len(client.acknowledged) >= enough)  # noqa: B023 called at once

    def stored(self) -> list[str]:
        """Return the titles of all to-dos that the service has for this user."""
        titles: list[str] = []
        while True:
            query = {"filter[order]": "id", "filter[limit]": PAGE, "filter[skip]": len(titles)}
            answer = requests.get(
                f"{self.url}/api/todos", query, headers=self.headers, timeout=TIMEOUT
            )
            answer.raise_for_status()
            page = [todo["title"] for todo in answer.json()]
            titles += page
            if len(page) < PAGE:
                return titles

    def report_on(self, report: Report, prefix: str = "") -> None:
        """Stop, read everything back and report: what was acknowledged is there once, as sent."""
        self.stop()
        acknowledged = set(self.titles("acknowledged"))
        sent = acknowledged | set(self.titles("refused")) | set(self.titles("unanswered"))
        stored = Counter(self.stored())
        report.did(f"{prefix}acknowledged", len(acknowledged))
        report.did(f"{prefix}read", self.count("read"))
        report.note(f"{prefix}refused", self.count("refused") + self.count("refused_reads"))
        report.note(
            f"{prefix}unanswered", self.count("unanswered") + self.count("unanswered_reads")
        )
        report.none_may(f"{prefix}lost", sorted(acknowledged - stored.keys()))
        twice = [title for title, times in stored.items() if times > 1]
        report.none_may(f"{prefix}duplicated", twice)
        wrong = [text for client in self.clients for text in client.wrong]
        report.none_may(f"{prefix}wrong", wrong + sorted(stored.keys() - sent))

    def none_refused_is_stored(self, report: Report, prefix: str = "") -> None:
        """Report that nothing is there of what was refused, where a refusal is certain of it."""
        self.stop()
        stored = sorted(set(self.titles("refused")) & set(self.stored()))
        report.none_may(f"{prefix}refused but stored", stored)


@contextmanager
def load(
    url: str,
    clients: int = CLIENTS,
    email: str = "ada@example.com",
    kind: type[Client] = Client,
) -> Iterator[Load]:
    """Let clients of a new user write and read until the end of the block."""
    made = Load(url, clients, email, kind)
    made.start()
    try:
        yield made
    finally:
        made.stop()
