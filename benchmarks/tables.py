"""Tables of figures: printed, and kept as JSON in results/, from which RESULTS.md is written."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import stack

RESULTS = Path(__file__).parent / "results"


@dataclass
class Table:
    """Rows of figures; the first cell of a row is its name, None is a figure that there is not."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)

    def text(self) -> str:
        """Return the table in aligned columns."""
        lines = [[self.title, *self.columns], *(list(map(cell, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip()
            for name, *cells in lines
        )


def cell(value: Any) -> str:
    """Return a figure as it is shown."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:,}"


def publish(part: str, how: str, tables: Iterable[Table], keep: bool) -> None:
    """Print the tables of a part when they are ready, and then keep them in place of its last ones.

    `how` says how long and how often was measured.
    """
    head = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": stack.machine(),
        "versions": stack.versions(),
        "how": how,
    }
    print("\n".join(head.values()), flush=True)
    finished = []
    for table in tables:
        print(f"\n{table.text()}", flush=True)
        finished.append(asdict(table))
    if keep:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({**head, "tables": finished}, indent=1, ensure_ascii=False)
        (RESULTS / f"{part}.json").write_text(f"{text}\n")
