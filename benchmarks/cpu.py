"""CPU time of running processes, from /proc (Linux), and what a request costs of it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import load
from .load import Request, Run
from .stack import Server

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """What one round measured of one server."""

    # Microseconds of CPU time a request: of the server's processes, and of PostgreSQL's.
    cpu: float
    database: float
    run: Run


def measure(
    server: Server,
    postgresql: int | None,
    requests: Sequence[Request],
    seconds: float,
    connections: int = load.CONNECTIONS,
) -> Sample:
    """Put load on a server, and return its rate and what a request cost.

    `postgresql` is the id of the first process of the database, None for SQLite.
    """
    pids = [server.pid, *([] if postgresql is None else [postgresql])]
    before = [cpu_seconds(pid) for pid in pids]
    run = load.run(server.port, requests, seconds, connections)
    used = [cpu_seconds(pid) - start for pid, start in zip(pids, before, strict=True)]
    cpu, database = (seconds * 1e6 / run.answered for seconds in [*used, 0][:2])
    return Sample(cpu, database, run)


def cpu_seconds(pid: int) -> float:
    """Return the user and system time that a process and its descendants have used.

    Children that have ended are in the figures of their parent.
    """
    try:
        # The command's name, in parentheses, may have spaces; the four times are 11 fields further.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    children = [int(child) for text in lists for child in text.split()]
    return sum(map(int, fields[11:15])) / TICKS + sum(map(cpu_seconds, children))
