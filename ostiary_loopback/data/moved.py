"""The outcome of a move: counts of rows, reasons, and the file of refused rows."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: Maximum number of different reasons in a report; further ones are counted together.
MAX_REASONS = 1000
#: Maximum characters of an id in lists.
MAX_SHOWN = 255
# The kind of reasons that the report lists first.
IMPORTANT = "IMPORTANT, not moved"
DRY = " (dry run: nothing is written; rows that the project's database has are not looked at)"
OTHER = "has one of many other reasons"


def shown(row_id: object) -> str:
    """Return an id as it is shown in lists: a short text without control characters."""
    if isinstance(row_id, Mapping | list | tuple | bytes):
        return f"({type(row_id).__name__})"
    text = str(row_id)[:MAX_SHOWN]
    return text if text.isprintable() else text.encode("unicode_escape").decode()


class Refused(Exception):  # noqa: N818
    """A row that is not moved; the text says why, without values."""


class LeftOut(Exception):  # noqa: N818
    """A row that is not needed any more, such as an expired token; the text says why."""


@dataclass
class Counts:
    """Counts of the rows of a model; `total` is of the source, `stored` of the table now."""

    total: int = 0
    read: int = 0
    written: int = 0
    present: int = 0
    refused: int = 0
    left_out: int = 0
    stored: int = 0
    position: int | str | None = None
    # Whether an earlier run may have written rows and was not completed.
    is_begun: bool = False
    is_done: bool = False

    @property
    def agrees(self) -> bool:
        """Whether all rows of the source are accounted for."""
        accounted = self.written + self.present + self.refused + self.left_out
        return self.total == self.read == accounted and self.stored >= self.written + self.present


@dataclass
class Reason:
    """The reason why rows of a model are refused, left out or changed, and one of their ids."""

    model: str
    kind: str
    text: str
    count: int = 0
    example: str = ""

    def line(self) -> str:
        """Return the line of the report."""
        example = f", such as {self.example}" if self.example else ""
        return f"  {self.kind}: {self.model}: {self.count} {self.text}{example}"


@dataclass
class Moved:
    """The outcome of a move."""

    dry_run: bool = False
    counts: dict[str, Counts] = field(default_factory=dict)
    reasons: dict[tuple[str, str, str], Reason] = field(default_factory=dict)
    # The file with each refused row; None in a dry run, and if none was refused.
    refusals: Path | None = None

    def of(self, model: str) -> Counts:
        """Return the counts of a model."""
        return self.counts.setdefault(model, Counts())

    def add(self, model: str, kind: str, text: str, row_id: object = "", count: int = 1) -> None:
        """Count rows for a reason."""
        key = (model, kind, text)
        if key not in self.reasons and len(self.reasons) >= MAX_REASONS:
            key = (model, kind, OTHER)
        reason = self.reasons.setdefault(key, Reason(*key, example=shown(row_id)))
        reason.count += count

    @property
    def is_complete(self) -> bool:
        """Whether every row of the source exists here, or was left out on purpose."""
        return all(counts.agrees and not counts.refused for counts in self.counts.values())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield f"Rows{DRY}" if self.dry_run else "Rows"
        reasons = [reason.line() for reason in self.reasons.values()]
        important = [line for line in reasons if line.startswith(f"  {IMPORTANT}")]
        yield from important
        for name, counts in self.counts.items():
            yield (
                f"  {name}: {counts.read} read, {counts.written} written,"
                f" {counts.present} already there, {counts.refused} refused,"
                f" {counts.left_out} left out"
            )
            if not counts.agrees:
                yield f"    does not agree: {counts.total} in the source, {counts.stored} here"
        yield from (line for line in reasons if line not in important)
        if self.refusals:
            yield f"Each refused row is in {self.refusals}"


class Journal:
    """Records the progress of a move and the refused rows, in files of a folder.

    The next run after one that was killed continues after the last batch.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self.moved = Moved()
        self.folder = folder
        self._source = source
        self._path = folder / "journal.json"
        # With an empty name, SQLite keeps the database in a temporary file.
        self._lines = sqlite3.connect("")
        self._lines.execute("CREATE TABLE lines (line PRIMARY KEY) WITHOUT ROWID")
        folder.mkdir(parents=True, exist_ok=True)
        self._load()
        self._refused = folder / "refused.jsonl"
        opened = os.open(self._refused, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(opened, "r+", encoding="utf-8")
        self._keep_lines()
        self.moved.refusals = self._refused

    def _keep_lines(self) -> None:
        """Record the lines of earlier runs; remove an incomplete one, of a run that was killed."""
        end = 0
        while (line := self._file.readline()).endswith("\n"):
            self._is_new(line)
            end = self._file.tell()
        self._file.seek(end)
        self._file.truncate()

    def _is_new(self, line: str) -> bool:
        """Record a line; return True if it is new."""
        query = "INSERT OR IGNORE INTO lines VALUES (?)"
        return self._lines.execute(query, (line,)).rowcount == 1

    def _load(self) -> None:
        """Continue an unfinished run on the same source."""
        try:
            state: Mapping[str, Any] = json.loads(self._path.read_text())
            if state["source"] != self._source or state["is_finished"]:
                return
            counts = {name: Counts(**kept) for name, kept in state["counts"].items()}
            reasons = [Reason(**kept) for kept in state["reasons"]]
        except (OSError, ValueError, KeyError, TypeError):
            return
        self.moved.counts = counts
        self.moved.reasons = {(kept.model, kept.kind, kept.text): kept for kept in reasons}

    def refuse(self, model: str, text: str, row_id: object) -> None:
        """Record a refused row."""
        self.moved.of(model).refused += 1
        self.list(model, "refused", text, row_id)

    def list(self, model: str, kind: str, text: str, row_id: object) -> None:
        """Record a row in the file, unless the line is there already."""
        self.moved.add(model, kind, text, row_id)
        entry = {"model": model, "id": shown(row_id), kind: text}
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        if self._is_new(line):
            self._file.write(line)

    def flush(self) -> None:
        """Write the lines to the file, before the rows that they name are committed."""
        self._file.flush()

    def save(self, is_finished: bool = False) -> None:
        """Write the progress of the move."""
        self.flush()
        state = {
            "source": self._source,
            "is_finished": is_finished,
            "counts": {name: asdict(counts) for name, counts in self.moved.counts.items()},
            "reasons": [asdict(reason) for reason in self.moved.reasons.values()],
        }
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(state))
        written.replace(self._path)

    def close(self) -> None:
        """Close the file, and delete it if it is empty."""
        self._lines.close()
        self._file.flush()
        is_empty = self._file.tell() == 0
        self._file.close()
        if is_empty:
            self._refused.unlink()
            self.moved.refusals = None
