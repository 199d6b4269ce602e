"""Which process of a server accepts a connection."""

import socket
from contextlib import ExitStack, suppress
from functools import partial
from itertools import permutations
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.server.accepting import ConnectionCounts
from tests.support.live import serve
from tests.support.waiting import eventually

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
NUMBER = 40


def test_a_process_has_more_than_another_that_accepts_connections():
    counts = ConnectionCounts()

    counts.set(1, 4)
    alone = counts.has_more_than_another(1)
    counts.set(2, 3)
    beside = [counts.has_more_than_another(process) for process in (1, 2)]
    counts.set(2, 4)
    equal = [counts.has_more_than_another(process) for process in (1, 2)]
    counts.set(2, 0)
    counts.remove(2)

    assert (alone, beside, equal) == (False, [True, False], [False, False])
    assert not counts.has_more_than_another(1)


@pytest.mark.live
def test_a_process_with_fewer_connections_accepts_new_ones(database_url, tmp_path):
    with serve(tmp_path, database_url) as server:
        # Both ways, as the kernel may prefer one of them.
        for busy, idle in permutations(server.workers()):
            with ExitStack() as early:
                with server.only(busy):
                    open_connections(early, server.url)
                eventually(partial(accepts_most, idle, busy, server.url))


def accepts_most(idle: int, busy: int, url: str) -> bool:
    """Open and close connections; return whether the process without any accepts most of them.

    If a busy machine does not run it in time, it accepts fewer, but not so many by chance.
    """
    eventually(lambda: (connections(idle, url), connections(busy, url)) == (0, NUMBER))
    with ExitStack() as new:
        open_connections(new, url)
        return connections(idle, url) >= NUMBER - 2


def open_connections(stack: ExitStack, url: str) -> None:
    """Open kept connections that have had a response each."""
    place = urlsplit(url)
    for _ in range(NUMBER):
        connection = socket.create_connection((place.hostname, place.port), 60)
        stack.enter_context(connection)
        connection.sendall(REQUEST)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def connections(process: int, url: str) -> int:
    """Return the number of connections at the server's port that a process has."""
    port = f":{urlsplit(url).port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # 01 is an established connection, which has the number of its socket in the tenth column.
    sockets = {
        f"socket:[{line[9]}]" for line in lines if line[1].endswith(port) and line[3] == "01"
    }
    found = 0
    for file in Path(f"/proc/{process}/fd").iterdir():
        # It may be closed meanwhile.
        with suppress(FileNotFoundError):
            found += str(file.readlink()) in sockets
    return found
