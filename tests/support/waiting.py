"""Waiting for what other threads and processes do; the only module of the tests that sleeps."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from app.times import now

# Seconds until what a test waits for is taken to have failed, however busy the machine is.
PATIENCE = 60.0
PAUSE = 0.01


def eventually(
    condition: Callable[[], Any],
    patience: float = PATIENCE,
    told: Callable[[], str] = lambda: "it did not happen",
) -> Any:
    """Wait until a condition is true; return its value. `told` says what happened instead."""
    end = time.monotonic() + patience
    while not (result := condition()):
        assert time.monotonic() < end, told()
        time.sleep(PAUSE)
    return result


def wait_to_be_ended() -> None:
    """Wait for the end of the process, which somebody else brings about."""
    time.sleep(PATIENCE)


def wait_as_told(retry_after: str | None) -> None:
    """Wait for the seconds of a Retry-After, as clients do; for a moment without any."""
    time.sleep(float(retry_after or 0.1))


def is_recent(moment: datetime) -> bool:
    """Return True if a moment is about now, also by a clock that is set back meanwhile."""
    return abs(now() - moment) < timedelta(minutes=5)
