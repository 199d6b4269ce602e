"""What a move has read, written and refused: counts, reasons, and the file of refused rows."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from app.ids import Id

#: Different reasons that are told apart; further ones are counted together.
MAX_REASONS = 1000
OTHER = "has one of many other reasons"


class Refused(Exception):  # noqa: N818
    """A row that is not moved; the text says why, without values."""


class LeftOut(Exception):  # noqa: N818
    """A row that nobody needs any more, such as an expired token; the text says why."""


@dataclass
class Counts:
    """Rows of one model; `total` are those of the source, `stored` those of our table now."""

    total: int = 0
    read: int = 0
    written: int = 0
    present: int = 0
    refused: int = 0
    left_out: int = 0
    stored: int = 0
    position: int | str | None = None
    is_done: bool = False

    @property
    def agrees(self) -> bool:
        """Whether all rows of the source are accounted for."""
        accounted = self.written + self.present + self.refused + self.left_out
        return self.total == self.read == accounted and self.stored >= self.written + self.present


@dataclass
class Reason:
    """Why rows of a model are refused, left out, or not as they were; with one of their ids."""

    model: str
    kind: str
    text: str
    count: int = 0
    example: str = ""


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
        """Count a row, or some, under a reason."""
        key = (model, kind, text)
        if key not in self.reasons and len(self.reasons) >= MAX_REASONS:
            key = (model, kind, OTHER)
        reason = self.reasons.setdefault(key, Reason(*key, example=str(row_id)[:100]))
        reason.count += count

    @property
    def is_complete(self) -> bool:
        """Whether every row of the source is here, or was left out on purpose."""
        return all(counts.agrees and not counts.refused for counts in self.counts.values())

    def lines(self) -> Iterator[str]:
        """Yield the report for people."""
        yield "Rows" + (" (dry run: nothing is written)" if self.dry_run else "")
        for name, counts in self.counts.items():
            yield (
                f"  {name}: {counts.read} read, {counts.written} written,"
                f" {counts.present} already there, {counts.refused} refused,"
                f" {counts.left_out} left out"
            )
            if not counts.agrees:
                yield f"    does not agree: {counts.total} in the source, {counts.stored} here"
        for reason in self.reasons.values():
            example = f", such as {reason.example}" if reason.example else ""
            yield f"  {reason.kind}: {reason.model}: {reason.count} {reason.text}{example}"
        if self.refusals:
            yield f"Each refused row is in {self.refusals}"


class Journal:
    """Keeps in a folder how far a move has come, and which rows were refused.

    A run that was killed goes on after its last batch. Without a folder nothing is written.
    """

    def __init__(self, folder: Path | None, source: str, dry_run: bool) -> None:
        self.moved = Moved(dry_run)
        self._source = source
        self._path = folder / "journal.json" if folder else None
        self._file: TextIO | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            size = self._load()
            refused = folder / "refused.jsonl"
            self._file = os.fdopen(os.open(refused, os.O_RDWR | os.O_CREAT, 0o600), "r+")
            self._file.truncate(size)
            self._file.seek(size)
            self.moved.refusals = refused

    def _load(self) -> int:
        """Take over an unfinished run on the same source; return the size of the refusals then."""
        try:
            state: Mapping[str, Any] = json.loads(self._path.read_text()) if self._path else {}
            if state["source"] != self._source or state["is_finished"]:
                return 0
            counts = {name: Counts(**kept) for name, kept in state["counts"].items()}
            reasons = [Reason(**kept) for kept in state["reasons"]]
            size = int(state["size"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        self.moved.counts = counts
        self.moved.reasons = {(kept.model, kept.kind, kept.text): kept for kept in reasons}
        return size

    def refuse(self, model: str, text: str, row_id: object) -> None:
        """Record a refused row."""
        self.moved.of(model).refused += 1
        self.list(model, "refused", text, row_id)

    def list(self, model: str, kind: str, text: str, row_id: object) -> None:
        """Record a row in the file."""
        self.moved.add(model, kind, text, row_id)
        if self._file:
            entry = {"model": model, "id": str(row_id)[:255], kind: text}
            self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def save(self, is_finished: bool = False) -> None:
        """Write how far the move has come."""
        if self._path is None or self._file is None:
            return
        self._file.flush()
        state = {
            "source": self._source,
            "is_finished": is_finished,
            "counts": {name: asdict(counts) for name, counts in self.moved.counts.items()},
            "reasons": [asdict(reason) for reason in self.moved.reasons.values()],
            "size": self._file.tell(),
        }
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(state))
        written.replace(self._path)

    def close(self) -> None:
        """Close the file; an empty one is deleted."""
        if self._file:
            self._file.flush()
            is_empty = self._file.tell() == 0
            self._file.close()
            if is_empty and self.moved.refusals:
                self.moved.refusals.unlink()
                self.moved.refusals = None


# What a row is called in lists: its id, or for a token the beginning of its digest.
Label = Id | str
