"""Opening a source, whose kind is recognized from SOURCE."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from .base import Source, SourceError


@contextmanager
def open_source(source: str) -> Iterator[Source]:
    """Open a database by its URL, a file of the memory connector, or a folder of dumps.

    Raises SourceError.
    """
    opened = _open(source)
    try:
        yield opened
    finally:
        opened.close()


def _open(source: str) -> Source:
    if "://" in source:
        return _reader("database", "SourceDatabase")(source)
    path = Path(source)
    if path.is_dir():
        return _reader("dumps", "Dumps")(path)
    if path.is_file():
        return _reader("memory", "MemoryFile")(path)
    raise SourceError(f"--data: there is no file or folder {source}, and it is no URL")


def _reader(module: str, name: str) -> Callable[[Any], Source]:
    """Import the reader of a kind of source; raise SourceError if its library is missing."""
    try:
        reader: Callable[[Any], Source] = getattr(import_module(f"{__package__}.{module}"), name)
    except ModuleNotFoundError as error:
        raise SourceError(f"{error.name} is missing: pip install 'ostiary[import]'") from None
    return reader
