"""The interface of sources of rows."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import click

from ostiary_loopback.data.source_models import SourceModel

# A row by the names of its properties, and where it is in its source: a number or an id.
Row = Mapping[str, Any]
Position = int | str
Placed = tuple[Position, Row]

#: Maximum bytes of one row of a file; MongoDB's documents have at most 16 MiB.
MAX_ROW = 16 * 1024 * 1024


class SourceError(click.ClickException):
    """A source cannot be read; the message is one sentence without a password."""


class Source(Protocol):
    """Reads the rows of models."""

    @property
    def fingerprint(self) -> str:
        """A text that identifies the source, without a password."""

    def holder(self, model: SourceModel) -> str | None:
        """Return the name of the table or collection with the rows of a model, or None."""

    def count(self, model: SourceModel) -> int:
        """Return the number of rows of a model."""

    def rows(self, model: SourceModel, after: Position | None = None) -> Iterator[Placed]:
        """Yield the rows of a model after a position, always in the same order."""

    def close(self) -> None:
        """Close files and connections."""
