"""Write RESULTS.md of the last figures of all parts, which are in results/."""

import json
from collections.abc import Iterator
from typing import Any

from .tables import RESULTS, cell

FILE = RESULTS.parent / "RESULTS.md"
HEAD = """# Results

Written by `make bench` from the files in `results/`: each part has its last full run, with its
date. [README.md](README.md) says what is measured and how to read it. Ratios of one table compare;
rates of two parts, or of two machines, do not. A load average above 1 says that others used the
machine: then trust counts and CPU times more than rates and milliseconds.
"""
# What each part measures, in the order of the report.
PARTS = {
    "calls": "Calls, statements and round trips of a request",
    "instructions": "Instructions of a request",
    "batch": "A batch against the requests that it replaces",
    "changes": "Streams of changes",
    "computed": "Lists with computed properties",
    "rest": "Against floors",
    "peers": "Against LoopBack 3 and other frameworks",
    "latency": "Percentiles at a fixed rate",
    "flood": "Many logins",
    "enumeration": "Known and unknown users",
    "growth": "Growth with the number of rows",
    "replicas": "With a standby that answers reads",
    "memory": "Memory after many requests",
    "start": "Start-up",
    "threads": "Processes and threads",
    "connector": "The connector alone",
}


def main() -> None:
    """Write the file."""
    FILE.write_text(report())


def report() -> str:
    """Return the report of all parts; one that was never run is left out."""
    found = {part: RESULTS / f"{part}.json" for part in PARTS}
    results = {part: json.loads(path.read_text()) for part, path in found.items() if path.exists()}
    sections = (_section(PARTS[part], result) for part, result in results.items())
    return HEAD + "".join("\n".join(["", *lines]) for lines in sections)


def _section(title: str, result: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{result['date']}. {result['how']}\n"
    yield f"{result['machine']}. {result['versions']}.\n"
    for table in result["tables"]:
        yield f"| {table['title']} | {' | '.join(table['columns'])} |"
        yield f"|---|{'---:|' * len(table['columns'])}"
        for row in table["rows"]:
            yield f"| {' | '.join(map(cell, row))} |"
        yield ""


if __name__ == "__main__":
    main()
