"""Reading filters as LoopBack 3 does, if COMPATIBILITY says so."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from app.rest.requests.compatibility import to_text

from .kinds import ARRAYS, BOOLEAN, Kind
from .parser import KEYS, NUMBERS, Properties, parse_filter
from .tree import OTHERS, Filter

# What stands for true and false, beside these and their names.
BOOLEANS = {"1": True, "0": False}


def lenient(kind: Kind) -> Kind:
    """Return a kind that also takes a number or a boolean for text, and 0 and 1 for a boolean."""
    if kind.read is None:
        return kind
    read = kind.read
    if kind is BOOLEAN:
        return replace(kind, read=lambda value: read(_as_boolean(value)))
    if kind.is_text or kind is ARRAYS[str]:
        return replace(kind, read=lambda value: read(_as_text(value)))
    return kind


def parse_leniently(
    raw: Mapping[str, object] | None, properties: Properties, declared: Collection[str]
) -> Filter:
    """Parse a filter without unknown keys, properties of `fields` and `order`, and empty numbers.

    `declared` are the names of all properties: those that filters may not name are refused.
    """
    given = {
        name: value
        for name, value in (raw or {}).items()
        if name in KEYS and not (name in NUMBERS and value == "")
    }

    def is_unknown(name: str) -> bool:
        own = name.partition(".")[0]
        return OTHERS not in properties and own not in properties and own not in declared

    return parse_filter(given, properties, is_unknown)


def _as_text(value: object) -> object:
    return to_text(value) if isinstance(value, bool | int | float) else value


def _as_boolean(value: object) -> object:
    text = _as_text(value)
    return BOOLEANS.get(text, value) if isinstance(text, str) else value
