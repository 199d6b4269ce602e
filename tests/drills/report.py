"""The report of a drill: counts, and what went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, field

# Problems of one kind that a report quotes.
MAX_QUOTED = 5


@dataclass
class Report:
    """The counts of a drill by name, and its problems: none if what it checks has held."""

    name: str
    counts: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    # Reports that count the same.
    parts: list["Report"] = field(default_factory=list)

    def add(self, part: "Report") -> None:
        """Add a row to the table."""
        self.parts.append(part)
        self.problems += [f"{part.name}: {problem}" for problem in part.problems]

    def did(self, what: str, number: float) -> None:
        """Count what the drill had to do: a drill that did nothing proved nothing."""
        self.counts[what] = number
        if not number:
            self.problems.append(f"{what}: none")

    def note(self, what: str, number: float) -> None:
        """Count what depends on the machine, and on chance."""
        self.counts[what] = number

    def none_may(self, what: str, found: Sequence[object]) -> None:
        """Count what must not happen; each is a problem."""
        self.counts[what] = len(found)
        if found:
            quoted = ", ".join(map(str, found[:MAX_QUOTED]))
            self.problems.append(f"{what}: {len(found)}, such as {quoted}")

    def at_most(self, what: str, number: float, limit: float) -> None:
        """Count what may happen so often at most."""
        self.counts[what] = number
        if number > limit:
            self.problems.append(f"{what}: {number}, and at most {limit} may be")

    def require(self, holds: bool, problem: str) -> None:
        """Note a problem unless this holds."""
        if not holds:
            self.problems.append(problem)

    def __str__(self) -> str:
        counts = ", ".join(f"{what} {number:g}" for what, number in self.counts.items())
        return "\n  ".join([f"{self.name}: {counts}", *self._table(), *self.problems])

    def _table(self) -> list[str]:
        """Return the lines of a table of the parts."""
        if not self.parts:
            return []
        names = max(len(part.name) for part in self.parts)
        titles = self.parts[0].counts
        rows = [
            [part.name.ljust(names), *(f"{part.counts[title]:{len(title)}g}" for title in titles)]
            for part in self.parts
        ]
        return ["  ".join(row) for row in [[" " * names, *titles], *rows]]
