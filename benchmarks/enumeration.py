"""Compare the answers to known and unknown identities: their bytes, and how long they take.

A user is known to the service, or not; nothing that anybody may ask should tell which. Each sample
is a pair of identities of which one is known, from a pair of clients, with as many requests as it
takes for the last one to be refused.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from statistics import median
from typing import Any

from . import stack
from .data import PASSWORD, fill
from .stack import Place
from .tables import Table, publish

# Two requests pass and the third is refused, so that a sample has the first, the second and the one
# after the limit. Only the refusal of a registration is compared: before, it tells who is known.
SETTINGS = {
    "APP_TRUSTED_PROXIES": "1",
    "APP_THROTTLES__login_identity__limit": "2",
    "APP_THROTTLES__reset_email__limit": "2",
    "APP_THROTTLES__verification_user__limit": "2",
    "APP_THROTTLES__registration__limit": "1",
    "APP_EMAIL_VERIFICATION": "optional",
}
# Headers that differ from one answer to the next, whoever it is about; the last one counts down.
CHANGING = {"date", "x-request-id", "retry-after"}
# The largest difference of the medians, in parts of the smaller one.
TOLERANCE = 0.05
# Seconds between two requests, for what an answer leaves to do to the process, such as a mail.
PAUSE = 0.02


@dataclass(frozen=True)
class Case:
    """A call that is compared: its path, its body for an email, and which requests count."""

    name: str
    path: str
    body: Callable[[str], dict[str, Any]] = lambda _: {}
    requests: tuple[str, ...] = ("1st", "2nd", "N+1st")
    # Whether each sample first registers somebody from its client.
    uses_up_registration: bool = False


CASES = (
    Case("login", "/users/login", lambda email: {"email": email, "password": "wrong"}),
    Case("reset", "/users/reset", lambda email: {"email": email}),
    Case("verify", "/users/{id}/verify"),
    Case(
        "registration",
        "/users",
        lambda email: {"email": email, "password": PASSWORD},
        requests=("N+1st",),
        uses_up_registration=True,
    ),
)


@dataclass
class Answers:
    """The answers to one side's requests of one number."""

    bytes: set[bytes] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)


class Client:
    """Sends requests over one connection, each as the client with some address."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=30)
        self._numbers = iter(range(1, 1 << 24))

    def new_address(self) -> str:
        """Return an address that had none of the requests before."""
        number = next(self._numbers)
        return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def send(self, path: str, address: str, body: dict[str, Any]) -> tuple[bytes, float]:
        """Return the answer without what changes, and the seconds that it took."""
        time.sleep(PAUSE)
        headers = {"Content-Type": "application/json", "X-Forwarded-For": address}
        start = time.perf_counter()
        self._connection.request("POST", f"/api{path}", json.dumps(body), headers)
        response = self._connection.getresponse()
        content = response.read()
        return _comparable(response, content), time.perf_counter() - start


def main() -> None:
    """Run all cases on both databases, and print a table; fail if an answer tells who is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 samples instead of 200; not kept")
    options = parser.parse_args()
    samples = 20 if options.quick else 200
    different: list[str] = []
    tables = stack.on_each_database(lambda place: _compare(place, samples, different))
    publish("enumeration", f"Milliseconds; {samples} samples", tables, keep=not options.quick)
    if different:
        sys.exit(f"The answers to known and unknown identities differ: {', '.join(different)}.")


def _compare(place: Place, samples: int, different: list[str]) -> Iterator[Table]:
    """Measure every case on a database; add the names of those whose bytes are not equal."""
    url, table = place.create("ostiary"), Table(place.title, ["known", "unknown", "ratio", "bytes"])
    fill(url, rows=1, owners=samples)
    with stack.gunicorn("wsgi:app", url, place.folder, SETTINGS) as server:
        client = Client(server.port)
        for case in CASES:
            found = _measure(client, case, samples)
            for number, (known, unknown) in found.items():
                row = _row(f"{case.name}, {number}", known, unknown)
                table.rows.append(row)
                different += [] if row[-1].startswith("equal") else [str(row[0])]
    yield table


def _measure(client: Client, case: Case, samples: int) -> dict[str, tuple[Answers, Answers]]:
    """Send all samples, known and unknown identities in turn, each first in half of them."""
    found = {number: (Answers(), Answers()) for number in case.requests}
    for sample in range(1, samples + 1):
        emails = f"user{sample}@example.com", f"none{sample}@example.com"
        # The ids of users are numbered from 1.
        paths = [case.path.replace("{id}", str(number)) for number in (sample, sample + 10**6)]
        addresses = client.new_address(), client.new_address()
        if case.uses_up_registration:
            for address in addresses:
                _use_up_registration(client, address)
        for number in case.requests:
            for side in random.sample((0, 1), 2):
                answer, seconds = client.send(paths[side], addresses[side], case.body(emails[side]))
                found[number][side].bytes.add(answer)
                found[number][side].seconds.append(seconds)
    return found


def _use_up_registration(client: Client, address: str) -> None:
    email = f"{address}-{random.getrandbits(32)}@example.com"
    client.send("/users", address, {"email": email, "password": PASSWORD})


def _row(name: str, known: Answers, unknown: Answers) -> list[Any]:
    """Return the medians, and whether all answers of both sides are the same bytes."""
    medians = [median(side.seconds) * 1000 for side in (known, unknown)]
    ratio = medians[0] / medians[1]
    is_slow = max(ratio, 1 / ratio) > 1 + TOLERANCE
    are_equal = known.bytes == unknown.bytes and len(known.bytes) == 1
    bytes_ = f"{'equal' if are_equal else 'DIFFERENT'}{', slower' if is_slow else ''}"
    return [name, *(round(number, 2) for number in (*medians, ratio)), bytes_]


def _comparable(response: HTTPResponse, content: bytes) -> bytes:
    """Return the status, the headers in their order, and the body."""
    kept = (f"{n}: {value}" for n, value in response.getheaders() if n.lower() not in CHANGING)
    return "\r\n".join([str(response.status), *kept]).encode() + b"\r\n\r\n" + content


if __name__ == "__main__":
    main()
