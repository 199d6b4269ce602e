"""The memory that workers return to the system."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from app.server import worker
from app.server.processes import TRIM_INTERVAL

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")

# Frees most of 60 MB, so that what is left lies all over it, and prints what is kept, in MiB.
FREE = """
from pathlib import Path
from app.server.processes import trim_malloc

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20

before = resident()
blocks = [bytes(3000) for _ in range(20_000)]
blocks = blocks[::100]
freed = resident() - before
trim_malloc()
print(freed, resident() - before)
"""


@pytest.mark.live
@linux
def test_what_is_free_between_blocks_is_returned():
    run = subprocess.run([sys.executable, "-c", FREE], capture_output=True, text=True, check=True)
    freed, trimmed = map(int, run.stdout.split())

    assert freed > 40
    assert trimmed < 10


@pytest.mark.parametrize(("seconds", "times"), [(0, 0), (TRIM_INTERVAL + 1, 1)])
def test_a_worker_trims_its_memory_each_interval(monkeypatch, seconds, times):
    trims, notices = [], []
    monkeypatch.setattr(worker, "trim_malloc", lambda: trims.append(1))
    serving = object.__new__(worker.BufferingWorker)
    serving.tmp = SimpleNamespace(notify=lambda: notices.append(1))
    serving.notified = 0.0
    serving.trimmed = worker.time.monotonic() - seconds

    for _ in range(3):
        serving.notify()

    # The master is told once a second.
    assert (len(trims), len(notices)) == (times, 1)
