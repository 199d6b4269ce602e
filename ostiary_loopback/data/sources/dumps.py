"""Folders of MongoDB dumps: files of mongodump, or lines of mongoexport; no server is needed."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import bson
from bson import json_util
from bson.codec_options import CodecOptions
from bson.errors import BSONError

from ostiary_loopback.data.source_models import SourceModel

from .base import MAX_ROW, Placed, Position, SourceError

GZIPPED = ".bson.gz"
SUFFIXES = (".bson", GZIPPED, ".json", ".jsonl")
METADATA = ".metadata.json"
# White space, and the mark of the order of bytes.
BLANK = b" \t\r\n\xef\xbb\xbf"
UNREADABLE = (
    *(BSONError, ValueError, TypeError, RecursionError, KeyError),
    *(OSError, EOFError, zlib.error),
)
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    tz_aware=True,
    datetime_conversion=bson.DatetimeConversion.DATETIME_AUTO,
    # Only rows with invalid UTF-8 are refused, and not the whole file.
    unicode_decode_error_handler="surrogateescape",
)
JSON_OPTIONS = json_util.JSONOptions(
    tz_aware=True, datetime_conversion=bson.DatetimeConversion.DATETIME_AUTO
)


class Dumps:
    """Reads the collections of a folder, each from the file of its name."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            path.name.split(".")[0].lower(): path
            for path in sorted([*folder.iterdir(), *folder.glob("*/*")])
            if path.name.endswith(SUFFIXES) and not path.name.endswith(METADATA)
        }
        if not self._files:
            raise SourceError(f"{folder} has no dumps: files that end with {', '.join(SUFFIXES)}")
        states = ((path, path.stat()) for path in self._files.values())
        self.fingerprint = " ".join(
            [str(folder.resolve()), *(f"{p.name} {s.st_size} {s.st_mtime_ns}" for p, s in states)]
        )

    def close(self) -> None:
        """Do nothing: files are closed when they have been read."""

    def holder(self, model: SourceModel) -> str | None:
        """Return the name of the collection of a model."""
        collection = model.connector("mongodb").get("collection")
        name = (collection if isinstance(collection, str) else model.name).lower()
        return name if name in self._files else None

    def count(self, model: SourceModel) -> int:
        """Return the number of rows of a model."""
        name = self.holder(model)
        return sum(1 for _ in self._documents(self._files[name])) if name else 0

    def rows(self, model: SourceModel, after: Position | None = None) -> Iterator[Placed]:
        """Yield the rows of a model, with the id by its name in the model."""
        name = self.holder(model)
        if name is None:
            return
        fields = {model.column(key, "mongodb") or key: key for key in (model.properties or {})} | {
            "_id": model.id_name
        }
        for number, document in enumerate(self._documents(self._files[name]), 1):
            if after is None or number > int(after):
                yield number, {fields.get(key, key): value for key, value in document.items()}

    def _documents(self, path: Path) -> Iterator[Mapping[str, Any]]:
        is_bson = path.name.endswith((".bson", GZIPPED))
        open_ = gzip.open if path.name.endswith(GZIPPED) else open
        try:
            with open_(path, "rb") as file:
                yield from _bson_documents(file) if is_bson else _lines(file, path.name)
        except UNREADABLE as error:
            kind = type(error).__name__
            raise SourceError(f"{path.name} is not a dump that can be read ({kind})") from None


def _bson_documents(file: BufferedIOBase) -> Iterator[Mapping[str, Any]]:
    while head := file.read(4):
        size = int.from_bytes(head, "little")
        if not 5 <= size <= MAX_ROW + 16384:
            raise ValueError("not BSON")
        yield bson.decode(head + file.read(size - 4), OPTIONS)


def _lines(file: BufferedIOBase, name: str) -> Iterator[Mapping[str, Any]]:
    while line := file.readline(3 * MAX_ROW):
        if not line.strip():
            continue
        if line.lstrip(BLANK).startswith(b"["):
            raise SourceError(
                f"{name} is one array: export it without --jsonArray, or write"
                " a line for each document with `jq -c '.[]'`"
            )
        document = json.loads(line.decode("utf-8-sig"), object_hook=_value)
        if not isinstance(document, dict):
            raise ValueError("not an object in a line")
        yield document


def _value(declared: dict[str, Any]) -> Any:
    """Return the value of a MongoDB type; an invalid one is returned unchanged."""
    try:
        return json_util.object_hook(declared, JSON_OPTIONS)
    except (BSONError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        return declared
