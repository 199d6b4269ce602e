"""The report of a comparison: differences by kind, each with one example."""

import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import click

from app.commands import print_rows

from .calls import Call
from .kinds import KINDS, Difference, Kind

COLUMNS = ("difference", "documented", "calls", "example", "place", "old", "new")


@dataclass
class _Found:
    calls: int
    example: str
    difference: Difference


@dataclass
class Report:
    """The results of a comparison, without bodies, tokens and values of rows; it is thread-safe."""

    compared: int = 0
    different: int = 0
    # The number of calls that were not compared, or not made, by reason.
    others: Counter[str] = field(default_factory=Counter)
    found: dict[str, _Found] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, call: Call, caller: str, differences: Sequence[Difference]) -> None:
        """Add a call that was compared; `caller` is a name such as that of a role."""
        first = {difference.kind.name: difference for difference in reversed(differences)}
        with self._lock:
            self.compared += 1
            self.different += bool(first)
            for name, difference in first.items():
                if name in self.found:
                    self.found[name].calls += 1
                else:
                    self.found[name] = _Found(1, f"{call} ({caller})", difference)

    def count(self, reason: str) -> None:
        """Count a call that is not compared."""
        with self._lock:
            self.others[reason] += 1

    @property
    def is_documented(self) -> bool:
        """Whether all differences are documented ones."""
        return all(found.difference.kind.is_documented for found in self.found.values())

    def print(self, as_json: bool) -> None:
        """Print the report, as a table or as JSON."""
        if as_json:
            click.echo(json.dumps(self._as_json(), indent=2))
            return
        click.echo(f"Calls compared: {self.compared}; with differences: {self.different}.")
        for reason, number in sorted(self.others.items()):
            click.echo(f"{reason}: {number}.")
        if self.found:
            click.echo()
            print_rows(COLUMNS, [self._row(kind) for kind in self._kinds()], as_json=False)

    def _kinds(self) -> list[Kind]:
        return [kind for kind in KINDS if kind.name in self.found]

    def _row(self, kind: Kind) -> tuple[object, ...]:
        found = self.found[kind.name]
        shown = found.difference
        told = (shown.place, shown.old, shown.new)
        return (kind.name, kind.is_documented, found.calls, found.example, *told)

    def _as_json(self) -> dict[str, object]:
        rows = [dict(zip(COLUMNS, self._row(kind), strict=True)) for kind in self._kinds()]
        return {
            "compared": self.compared,
            "different": self.different,
            "others": dict(self.others),
            "differences": [
                {**row, "meaning": kind.meaning}
                for row, kind in zip(rows, self._kinds(), strict=True)
            ],
        }
