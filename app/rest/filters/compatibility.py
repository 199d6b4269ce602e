"""Reading filters as LoopBack 3 does, if COMPATIBILITY is set."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

from app.rest.requests.compatibility import to_boolean, to_number, to_text, to_time

from .kinds import ARRAYS, BOOLEAN, Kind
from .parser import KEYS, NUMBERS, Properties, parse_filter
from .tree import OTHERS, Filter

# Converters to these kinds, from texts too.
CONVERTED: Mapping[Kind, Callable[[object], object]] = {
    BOOLEAN: to_boolean,
    ARRAYS[str]: to_text,
    ARRAYS[bool]: to_boolean,
    ARRAYS[datetime]: to_time,
}


def lenient(kind: Kind) -> Kind:
    """Return a kind that also accepts equivalent values, such as a number for text."""
    convert = CONVERTED.get(kind, to_text if kind.is_text else None)
    if kind.read is None or convert is None:
        return kind
    read = kind.read
    return replace(kind, read=lambda value: read(convert(value)))


def parse_leniently(
    raw: Mapping[str, object] | None, properties: Properties, declared: Collection[str]
) -> Filter:
    """Parse a filter; ignore unknown keys and properties in some places, and empty numbers.

    `declared` are all properties: those that filters must not use are refused.
    """
    given = {
        name: to_number(value) if name in NUMBERS else value
        for name, value in (raw or {}).items()
        if name in KEYS and not (name in NUMBERS and value == "")
    }

    def is_unknown(name: str) -> bool:
        own = name.partition(".")[0]
        return OTHERS not in properties and own not in properties and own not in declared

    return parse_filter(given, properties, is_unknown)
