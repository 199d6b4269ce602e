"""Clients that write to-dos, and followers of their changes, which resume where they were."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import requests

from tests.support.live import newcomer
from tests.support.waiting import eventually

from .report import Report

# Changes of to-dos are recorded; ids are not given twice, not even after a loss of commits.
WATCHED = {"CHANGES": ["todos"], "ID_TYPE": "uuid"}
SETTINGS = {"APP_CHANGES": '["todos"]', "APP_ID_TYPE": "uuid"}
# A hundred followers: as many users as writers, each with as many streams and long polls as it may.
WRITERS, FOLLOWERS = 10, 10
# Seconds that a writer waits after each request, and that clients wait after one that failed.
PACE, PAUSE = 0.1, 0.2
# Seconds for an answer, or until the next part of a stream, which has a comment every 15 s; of a
# long poll.
TIMEOUT, WAIT = 40, 5
# How often a writer changes a to-do, whose `desc` is the number of the change; it deletes every
# second one afterwards.
UPDATES = 2
FAILURES = (OSError, http.client.HTTPException, requests.RequestException)


@dataclass
class Writer:
    """A client that creates, changes and deletes to-dos, and remembers what was acknowledged."""

    url: str
    email: str
    headers: dict[str, str] = field(default_factory=dict)
    # The last acknowledged change of each to-do, by id; None if it is deleted.
    acknowledged: dict[Any, int | None] = field(default_factory=dict)
    writes: int = 0

    def work(self, stop: threading.Event) -> None:
        """Write until it is stopped."""
        with requests.Session() as session:
            session.headers.update(self.headers)
            while not stop.is_set():
                self._write_one(session, stop)

    def _write_one(self, session: requests.Session, stop: threading.Event) -> None:
        todo = self._send(session, stop, "POST", "", {"title": self.email, "desc": "0"})
        if todo is None:
            return
        id_ = todo["id"]
        self.acknowledged[id_] = 0
        for number in range(1, UPDATES + 1):
            if self._send(session, stop, "PATCH", f"/{id_}", {"desc": str(number)}) is None:
                return
            self.acknowledged[id_] = number
        is_deleted = len(self.acknowledged) % 2 == 0
        if is_deleted and self._send(session, stop, "DELETE", f"/{id_}") is not None:
            self.acknowledged[id_] = None

    def _send(
        self,
        session: requests.Session,
        stop: threading.Event,
        method: str,
        path: str,
        body: object = None,
    ) -> Any:
        """Send a request once; return its answer as JSON, None if it was not acknowledged."""
        url = f"{self.url}/api/todos{path}"
        try:
            answer = session.request(method, url, json=body, timeout=TIMEOUT)
        except requests.RequestException:
            stop.wait(PAUSE)
            return None
        stop.wait(PACE if answer.ok else PAUSE)
        if not answer.ok:
            return None
        self.writes += 1
        return answer.json() if answer.content else {}

    def rows(self) -> dict[Any, int]:
        """Return what `find` shows this user: the number of the last change of each to-do."""
        answer = requests.get(f"{self.url}/api/todos", headers=self.headers, timeout=TIMEOUT)
        answer.raise_for_status()
        return {row["id"]: int(row["desc"]) for row in answer.json()}


@dataclass
class Follower:
    """A reader of the changes that a user may see: by a stream, or by long polls."""

    writer: Writer
    is_stream: bool
    # What it has, as its writer has it.
    rows: dict[Any, int] = field(default_factory=dict)
    # The last change of each to-do that it was sent since it has read all rows, if it had to.
    sent: dict[Any, int | None] = field(default_factory=dict)
    cursor: str = ""
    connections: int = 0
    resyncs: int = 0
    # Answers that were no JSON, and asked for again.
    broken: int = 0
    # What it must not have been sent, and older rows after newer ones, as sentences.
    wrong: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    _socket: socket.socket | None = None

    def work(self, stop: threading.Event) -> None:
        """Follow until it is stopped, connecting again and again."""
        read = self._read_stream if self.is_stream else self._read_page
        while not stop.is_set():
            try:
                if not self.cursor:
                    self.cursor = self._ask()["next"]
                read()
            except json.JSONDecodeError:
                self.broken += 1
            except FAILURES:
                stop.wait(PAUSE)

    def hang_up(self) -> None:
        """Close the connection, from another thread."""
        if self._socket:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _ask(self, **query: Any) -> Any:
        with self._request("application/json", {"models": "todos", **query}) as answer:
            return json.loads(answer.read())

    def _read_page(self) -> None:
        page = self._ask(since=self.cursor, wait=WAIT)
        for change in page["changes"]:
            self._take(change)
        if "resync" in page:
            self._resync()
        # Only afterwards: what was not dealt with is sent again.
        self.cursor = page["next"]

    def _read_stream(self) -> None:
        with self._request("text/event-stream", {}) as answer:
            event: dict[str, str] = {}
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(":")
                if name:
                    event[name] = value.strip()
                elif line == b"\n":
                    self._receive(event)
                    event = {}

    def _receive(self, event: dict[str, str]) -> None:
        if event.get("event") == "data":
            self._take(json.loads(event["data"]))
        elif event.get("event") == "resync":
            self._resync()
        self.cursor = event.get("id", self.cursor)

    @contextmanager
    def _request(self, accept: str, query: dict[str, Any]) -> Iterator[http.client.HTTPResponse]:
        address = urlsplit(self.writer.url)
        path = "/api/todos/change-stream" if self.is_stream and not query else "/api/changes"
        connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=TIMEOUT
        )
        headers = {**self.writer.headers, "Accept": accept}
        if self.cursor:
            headers["Last-Event-ID"] = self.cursor
        try:
            connection.connect()
            self._socket = connection.sock
            connection.request("GET", f"{path}?{urlencode(query)}", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise http.client.HTTPException(answer.status)
            self.connections += 1
            yield answer
        finally:
            connection.close()

    def _take(self, change: dict[str, Any]) -> None:
        id_, row = change["target"], change.get("data")
        number = None if row is None else int(row["desc"])
        before = self.sent.get(id_, 0)
        if row is not None and row["title"] != self.writer.email:
            self.wrong.append(f"{self.writer.email} was sent {row}")
        if number is not None and (before is None or number < before):
            self.out_of_order.append(f"{id_} was {number} after {before}")
        self.sent[id_] = number
        if number is None:
            self.rows.pop(id_, None)
        else:
            self.rows[id_] = number

    def _resync(self) -> None:
        """Read all rows anew; what is sent meanwhile may be older, until it is sent anew."""
        self.rows = self.writer.rows()
        self.sent.clear()
        self.resyncs += 1


class Following:
    """All writers and their followers."""

    def __init__(self, url: str) -> None:
        self.writers = [Writer(url, f"user{number}@example.com") for number in range(WRITERS)]
        for writer in self.writers:
            writer.headers = newcomer(url, writer.email)
        self.followers = [
            Follower(writer, is_stream=number % 2 == 0)
            for writer in self.writers
            for number in range(FOLLOWERS)
        ]
        # What `find` has shown each user at the end.
        self.found: dict[str, dict[Any, int]] = {}
        self._stop, self._stop_writing = threading.Event(), threading.Event()
        self._writing = [
            threading.Thread(target=each.work, args=(self._stop_writing,)) for each in self.writers
        ]
        self._reading = [
            threading.Thread(target=each.work, args=(self._stop,)) for each in self.followers
        ]

    def start(self) -> None:
        """Let the followers begin, and then the writers."""
        for thread in self._reading:
            thread.start()
        eventually(lambda: all(each.cursor for each in self.followers))
        for thread in self._writing:
            thread.start()

    def stop(self) -> None:
        """Let all of them end."""
        self.stop_writing()
        self._stop.set()
        for follower, thread in zip(self.followers, self._reading, strict=True):
            while thread.is_alive():
                follower.hang_up()
                thread.join(PAUSE)

    def stop_writing(self) -> None:
        """Let the writers finish what they do."""
        self._stop_writing.set()
        for thread in self._writing:
            if thread.ident:
                thread.join()

    def goes_on(self) -> None:
        """Wait until some writers have had a write acknowledged that they send from now on."""
        for writer in self.writers[::3]:
            enough = writer.writes + 2
            eventually(lambda: writer.writes >= enough)  # noqa: B023 called at once

    def lost(self) -> list[Any]:
        """Return the to-dos that do not have all acknowledged changes at the end."""
        return [
            id_
            for writer in self.writers
            for id_, number in writer.acknowledged.items()
            if self._is_lost(number, self.found[writer.email].get(id_))
        ]

    @staticmethod
    def _is_lost(number: int | None, found: int | None) -> bool:
        if number is None:
            return found is not None
        # It may have been deleted by a request that was not acknowledged.
        is_deletable = number == UPDATES
        return found < number if found is not None else not is_deletable

    def all(self, what: str) -> list[str]:
        """Return what all followers have noted: "wrong" or "out_of_order"."""
        return [text for follower in self.followers for text in getattr(follower, what)]

    def report_on(self, report: Report, prefix: str = "") -> None:
        """Report whether the followers have all rows that there are, and were sent all changes."""
        self.stop_writing()
        self.found = {writer.email: writer.rows() for writer in self.writers}
        started = time.monotonic()
        with suppress(AssertionError):
            eventually(lambda: not self._behind())
        report.note(f"{prefix}seconds behind", round(time.monotonic() - started, 1))
        report.none_may(f"{prefix}followers with other rows", self._behind())
        self.stop()
        report.did(f"{prefix}writes", sum(writer.writes for writer in self.writers))
        report.did(f"{prefix}connections", sum(each.connections for each in self.followers))
        report.note(f"{prefix}broken pages", sum(each.broken for each in self.followers))
        report.note(f"{prefix}resyncs", sum(each.resyncs for each in self.followers))
        report.none_may(f"{prefix}not sent", list(self._missing()))
        report.none_may(f"{prefix}wrong", self.all("wrong") + list(self._of_others()))

    def _behind(self) -> list[str]:
        return [
            f"{each.writer.email} {'stream' if each.is_stream else 'poll'}"
            for each in self.followers
            if each.rows != self.found[each.writer.email]
        ]

    def _missing(self) -> Iterator[str]:
        """Yield the acknowledged changes that followers without a resync were not sent."""
        for follower in self.followers:
            for id_, number in follower.writer.acknowledged.items() if not follower.resyncs else ():
                sent = follower.sent.get(id_, -1)
                if sent is not None and (number is None or sent < number):
                    yield f"{id_}: {number}, {sent} was sent"

    def _of_others(self) -> Iterator[str]:
        """Yield the rows of others that followers were sent, their removal included."""
        for follower in self.followers:
            for writer in self.writers:
                if writer is not follower.writer:
                    known = follower.sent.keys() & writer.acknowledged.keys()
                    yield from (f"{id_} of {writer.email}" for id_ in known)


@contextmanager
def following(url: str) -> Iterator[Following]:
    """Let users write and follow until the end of the block."""
    made = Following(url)
    try:
        made.start()
        yield made
    finally:
        made.stop()
