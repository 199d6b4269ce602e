"""Encoding a query string or a form; nested values are written with brackets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.connector.errors import VariableError, translate_errors
from app.connector.values import to_json_scalar, to_text

from .url import percent_encode

# Characters of all names together; a nested value has the names of all its parents.
_MAX_NAME_CHARACTERS = 100_000


def encode_query(entries: Mapping[str, Any], *, repeat: bool = False) -> str:
    """Encode entries as a query string; `repeat` writes lists as `a=1&a=2`."""
    pairs = _Pairs(repeat=repeat)
    with translate_errors(RecursionError, _nesting_error):
        for key, value in entries.items():
            pairs.add(str(key), value)
    return "&".join([f"{percent_encode(key)}={percent_encode(text)}" for key, text in pairs])


def _nesting_error(_error: Exception) -> VariableError:
    return VariableError("A query or form value is nested too deeply or contains itself")


class _Pairs(list[tuple[str, str]]):
    """The flat entries of a query or form, with a limit on the size of their names."""

    def __init__(self, *, repeat: bool) -> None:
        super().__init__()
        self._repeat = repeat
        self._room = _MAX_NAME_CHARACTERS

    def add(self, key: str, value: Any) -> None:
        """Add an entry and what is nested in it; VariableError beyond the limit."""
        self._room -= len(key)
        if self._room < 0:
            raise VariableError("A query or form is too large or contains itself")
        if not isinstance(value, str | int):
            value = to_json_scalar(value)
        if isinstance(value, Mapping):
            for name, item in value.items():
                self.add(f"{key}[{name}]", item)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                self.add(key if self._repeat else f"{key}[{index}]", item)
        else:
            self.append((key, to_text(value, f"Entry {key}")))


def add_query(url: str, entries: Mapping[str, Any], *, repeat: bool = False) -> str:
    """Add entries to the query of a url, replacing those of the same name."""
    if not entries:
        return url
    address, _, own = url.partition("?")
    if own:
        replaced = {percent_encode(str(key)) for key in entries}
        kept = [pair for pair in own.split("&") if pair and pair.partition("=")[0] not in replaced]
        own = "&".join(kept)
    text = "&".join(filter(None, (own, encode_query(entries, repeat=repeat))))
    return f"{address}?{text}" if text else address
