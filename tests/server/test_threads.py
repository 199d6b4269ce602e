"""The threads that answer requests."""

import sys
from threading import Barrier

from app.server.processes import Threads


def test_a_view_that_exits_ends_no_thread():
    threads, found = Threads(1), []

    for call in (sys.exit, lambda: found.append(1)):
        threads.call(call)
    threads.shutdown(wait=True)

    assert found == [1]


def test_calls_are_made_at_the_same_time_and_before_the_end():
    threads, found = Threads(2), []
    meet = Barrier(2, timeout=60)

    for number in range(4):
        threads.call(lambda number=number: found.append((meet.wait() >= 0, number)))
    threads.shutdown(wait=True)

    assert sorted(found) == [(True, number) for number in range(4)]
