"""Writing a query string or a form: lists by index or repeated, nested brackets, `%20`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import VariableError
from .url import encoded
from .values import as_plain, as_text


def encode_query(entries: Mapping[str, Any], *, repeat: bool = False) -> str:
    """Write entries as a query string; `repeat` repeats the key of a list."""
    try:
        pairs = [pair for key, value in entries.items() for pair in _pairs(str(key), value, repeat)]
    except RecursionError:
        pairs = None
    if pairs is None:
        raise VariableError("A query or form value is nested too deeply or contains itself")
    return "&".join([f"{encoded(key)}={encoded(text)}" for key, text in pairs])


def _pairs(key: str, value: Any, repeat: bool) -> list[tuple[str, str]]:
    if isinstance(value, str | int):
        return [(key, as_text(value, key))]
    value = as_plain(value)
    if isinstance(value, Mapping):
        return [
            pair for name, item in value.items() for pair in _pairs(f"{key}[{name}]", item, repeat)
        ]
    if isinstance(value, list | tuple):
        return [
            pair
            for index, item in enumerate(value)
            for pair in _pairs(key if repeat else f"{key}[{index}]", item, repeat)
        ]
    return [(key, as_text(value, f"Entry {key}"))]


def add_query(url: str, entries: Mapping[str, Any], *, repeat: bool = False) -> str:
    """Put entries into a url; an entry replaces what the url says under the same key."""
    if not entries:
        return url
    address, _, own = url.partition("?")
    if own:
        replaced = {encoded(str(key)) for key in entries}
        kept = [pair for pair in own.split("&") if pair and pair.partition("=")[0] not in replaced]
        own = "&".join(kept)
    text = "&".join(filter(None, (own, encode_query(entries, repeat=repeat))))
    return f"{address}?{text}" if text else address
