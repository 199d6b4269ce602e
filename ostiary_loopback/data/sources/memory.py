"""The file of LoopBack's memory connector, read without holding more than a row of it."""

import json
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostiary_loopback.data.source_models import SourceModel

from .base import MAX_ROW, Placed, Position, SourceError

# A text of JSON, or one character of its punctuation, or a literal.
TOKEN = re.compile(rb'\s*("[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+)', re.DOTALL)
# Maximum bytes of the file that the system keeps in memory for the process.
WINDOW = 32 * 1024 * 1024


@dataclass
class Part:
    """The place of the rows of a model in the file, and their number."""

    start: int
    count: int = 0


class MemoryFile:
    """Reads `{"ids": ..., "models": {"User": {"1": "<JSON as text>"}}}`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        stat = path.stat()
        self.fingerprint = f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns}"
        if stat.st_size == 0:
            raise self._problem(0)
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # The beginning of the part of the file that the system keeps in memory.
        self._kept_from = 0
        self._parts = self._index()

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()

    def holder(self, model: SourceModel) -> str | None:
        """Return the name of a model that has rows."""
        return model.name if model.name in self._parts else None

    def count(self, model: SourceModel) -> int:
        """Return the number of rows of a model."""
        return self._parts[model.name].count if model.name in self._parts else 0

    def rows(self, model: SourceModel, after: Position | None = None) -> Iterator[Placed]:
        """Yield the rows of a model."""
        if model.name not in self._parts:
            return
        entries = self._entries(self._parts[model.name].start)
        for number, (_, start, end) in enumerate(entries, 1):
            if after is None or number > int(after):
                yield number, self._row(start, end)

    def _row(self, start: int, end: int) -> dict[str, Any]:
        if end - start > MAX_ROW:
            raise SourceError(f"{self._path.name}: the row at byte {start} is too large")
        try:
            text = json.loads(self._bytes[start:end])
            row = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            raise self._problem(start) from None
        if not isinstance(row, dict):
            raise self._problem(start)
        return row

    def _index(self) -> dict[str, Part]:
        """Find the models in the file."""
        parts: dict[str, Part] = {}
        for name, start, _ in self._entries(0):
            if name != "models":
                continue
            for model, begin, _ in self._entries(start):
                if self._token(begin)[0] != b"null":
                    count = sum(1 for _ in self._entries(begin))
                    parts[model] = Part(begin, count)
        if not parts and b'"models"' not in self._bytes[:MAX_ROW]:
            raise SourceError(f"{self._path.name} is no file of LoopBack's memory connector")
        return parts

    def _entries(self, start: int) -> Iterator[tuple[str, int, int]]:
        """Yield the keys of an object, each with the beginning and the end of its value."""
        place = self._expect(start, b"{")
        while True:
            key, place = self._token(place)
            if key == b"}":
                return
            if key == b",":
                continue
            place = self._expect(place, b":")
            end = self._skip(place)
            yield self._name(key, place), place, end
            place = end

    def _release(self, place: int) -> None:
        """Release the memory of what was read, which would count as memory of the process."""
        self._bytes.madvise(mmap.MADV_DONTNEED)
        self._kept_from = place

    def _name(self, key: bytes, place: int) -> str:
        try:
            return str(json.loads(key))
        except ValueError:
            raise self._problem(place) from None

    def _skip(self, place: int) -> int:
        """Return the end of the value that begins here."""
        depth = 0
        while True:
            token, place = self._token(place)
            depth += (token in b"{[") - (token in b"}]")
            if depth == 0:
                return place

    def _expect(self, place: int, wanted: bytes) -> int:
        token, place = self._token(place)
        if token != wanted:
            raise self._problem(place)
        return place

    def _token(self, place: int) -> tuple[bytes, int]:
        if abs(place - self._kept_from) > WINDOW:
            self._release(place)
        found = TOKEN.match(self._bytes, place)
        if found is None:
            raise self._problem(place)
        return found[1], found.end()

    def _problem(self, place: int) -> SourceError:
        return SourceError(f"{self._path.name} is not valid JSON of rows at byte {place}")
