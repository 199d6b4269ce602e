"""Only tests that are marked `live` may start processes.

So the others are fast, and run wherever Python does.
"""

import functools
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# What starts processes: functions, each by the object that has it and its name. An audit hook would
# be called for a million other events, too.
STARTS = [
    (subprocess.Popen, "__init__"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")),
]


class ProcessGuard:
    """A pytest plugin that raises an error where a test that is not marked starts a process."""

    def __init__(self) -> None:
        self._is_active = False
        for owner, name in STARTS:
            setattr(owner, name, self._checked(getattr(owner, name)))

    def _checked(self, start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def checked(*arguments: Any, **named: Any) -> Any:
            if self._is_active:
                name = f"{start.__module__}.{start.__qualname__}"
                raise AssertionError(f"this test must be marked live: it calls {name}")
            return start(*arguments, **named)

        return checked

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Allow a process that tests share, such as the server of a database."""
        before, self._is_active = self._is_active, False
        try:
            yield
        finally:
            self._is_active = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._is_active = item.get_closest_marker("live") is None
        return (yield)


guard = ProcessGuard()
