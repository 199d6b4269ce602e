"""CPU time of running processes, from /proc (Linux)."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


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
    children = [int(child) for each in lists for child in each.split()]
    return sum(map(int, fields[11:15])) / TICKS + sum(map(cpu_seconds, children))
