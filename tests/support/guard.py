"""Only tests that are marked `live` may start processes.

So the others are fast, and run wherever Python does.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"}


class ProcessGuard:
    """A pytest plugin that raises an error where a test that is not marked starts a process."""

    def __init__(self) -> None:
        self._is_active = False
        # Hooks cannot be removed.
        sys.addaudithook(self._check)

    def _check(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._is_active and event in STARTS:
            raise AssertionError(
                f"this test must be marked live: it starts {arguments[0] if arguments else event}"
            )

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
