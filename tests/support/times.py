"""A pytest plugin that prints which files and fixtures of a run take the most time.

`make test-times` loads it. CPU time is that of the test process and of the processes that it has
waited for; the rest of the time that passes is wait.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

# The rows of each table.
MOST = 10


class Moment(NamedTuple):
    """Seconds of CPU time, and seconds that passed."""

    cpu: float
    passed: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(sum(os.times()[:4]), time.perf_counter())

    def since(self, start: "Moment") -> "Moment":
        return Moment(self.cpu - start.cpu, self.passed - start.passed)


class Times:
    """The seconds that files and fixtures take in one test process, fixtures apart from tests."""

    def __init__(self) -> None:
        self.cpu: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        # The time of what runs inside of what is measured, which is not counted twice.
        self._inner = [Moment(0, 0)]

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        start = Moment.now()
        self._inner.append(Moment(0, 0))
        yield
        spent, inner = Moment.now().since(start), self._inner.pop()
        self.add(name, spent.since(inner))
        outer = self._inner.pop()
        self._inner.append(Moment(outer.cpu + spent.cpu, outer.passed + spent.passed))

    def add(self, name: str, spent: Moment) -> None:
        self.cpu[name] += spent.cpu
        self.passed[name] += spent.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self.measured(item.nodeid.partition("::")[0]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        with self.measured(f"fixture {fixturedef.argname}"):
            return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a process of pytest-xdist measured."""
        for name, spent in getattr(node, "workeroutput", {}).get("times", {}).items():
            self.add(name, Moment(*spent))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            times = {name: [self.cpu[name], self.passed[name]] for name in self.cpu}
            session.config.workeroutput["times"] = times

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        waits = Counter({name: self.passed[name] - self.cpu[name] for name in self.cpu})
        for title, seconds in (("CPU time", self.cpu), ("wait", waits)):
            terminalreporter.section(f"{title}: {seconds.total():.0f} s in all", sep="-")
            for name, spent in seconds.most_common(MOST):
                terminalreporter.write_line(f"{spent:7.1f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Times())
