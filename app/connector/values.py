"""Values: the types of variables, values as text, and structures level by level."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import NamedTuple, NoReturn
from uuid import UUID

from app.problems import type_name

from .errors import ConfigError, VariableTypeError
from .types import JsonValue

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_LARGEST_PLAIN_FLOAT = 1e21
_UTC = timedelta(0)
_TEXTS = ("text", "str", "char", "date", "datetime", "uuid", "email", "url", "id")
Coercer = Callable[[object], object]
#: Maximum levels of a data source's settings, or of a template.
MAX_LEVELS = 50
# Checked before Mapping, which takes five times as long.
SCALARS = (str, int, float)


class _Missing:
    """Stands for the absence of a value where None is a value."""


MISSING = _Missing()


class EnvText(str):
    """A string from the environment: it has no variables and is never printed."""

    __slots__ = ()


def environment_values(value: object) -> list[str]:
    """Return the strings of the settings that are from the environment."""
    return [str(item) for level in levels_of(value) for item in level if isinstance(item, EnvText)]


def string(value: object) -> object:
    """Return any scalar unchanged; raise ValueError for an object or a list."""
    if isinstance(value, Mapping | list | tuple):
        raise ValueError
    return value


def number(value: object) -> int | float:
    """Return a finite number, as an int if it is whole."""
    if isinstance(value, str):
        value = _number_from_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError
    if isinstance(value, int):
        return value
    real = float(value)
    if not math.isfinite(real):
        raise ValueError
    return int(real) if real.is_integer() else real


def _number_from_text(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def integer(value: object) -> int:
    """Return a whole number."""
    whole = number(value)
    if not isinstance(whole, int):
        raise ValueError
    return whole


def boolean(value: object) -> bool:
    """Return a boolean for true, false, 1 or 0, also as a string in any case."""
    found = _BOOLEANS.get(str(value).lower()) if isinstance(value, int | str) else None
    if found is None:
        raise ValueError
    return found


def json_value(value: object) -> object:
    """Return a structure unchanged, or read it from a string with JSON."""
    return parse_json(value) if isinstance(value, str) else value


def parse_json(document: str | bytes) -> JsonValue:
    """Read JSON as of RFC 8259; raise ValueError for anything else.

    `NaN`, `Infinity` and numbers beyond the range of a double are refused, because they could not
    be written as JSON again.
    """
    with suppress(ValueError, RecursionError):
        if isinstance(document, bytes):
            document = document.decode(json.detect_encoding(document))
        return _DECODER.decode(document)
    # Outside of the block: the parser's error contains the document, which may have secrets.
    raise ValueError("not JSON")


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _json_of(*types: type) -> Coercer:
    def structure(value: object) -> object:
        found = json_value(value)
        if not isinstance(found, types):
            raise ValueError
        return found

    return structure


class VariableType(NamedTuple):
    """A type of variables: its name in messages, its parser, and the words for it."""

    phrase: str = ""
    read: Coercer | None = None
    others: tuple[str, ...] = ()


TYPES = {
    "string": VariableType("a string", string, _TEXTS),
    "any": VariableType(),
    "path": VariableType(),
    "number": VariableType("a number", number, ("float", "double", "decimal", "num")),
    "integer": VariableType("an integer", integer, ("int", "long", "short")),
    "boolean": VariableType("a boolean", boolean, ("bool",)),
    "object": VariableType("an object", _json_of(dict), ("dict", "map")),
    "array": VariableType("an array", _json_of(list, tuple), ("list",)),
    "json": VariableType("JSON", json_value),
}
_NAMES = {word: name for name, known in TYPES.items() for word in (name, *known.others)}


def known_type(word: str) -> str | None:
    """Return the type for a word in any case, None for an unknown word."""
    return _NAMES.get(word.lower())


def to_text(value: object, label: str) -> str:
    """Return a value as text; `label` names it in the error for an object."""
    # The fastest path, for the items of long lists.
    if type(value) is int and abs(value) < _LARGEST_PLAIN_FLOAT:
        return str(value)
    plain = to_json_scalar(value)
    if isinstance(plain, str):
        return str(plain)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, list | tuple):
        return _list_text(plain, label)
    with suppress(ValueError):
        return _number_text(plain)
    raise _text_error(label, type_name(value))


def _list_text(items: Sequence[object], label: str) -> str:
    with suppress(RecursionError):
        return ",".join([item if type(item) is str else to_text(item, label) for item in items])
    raise _text_error(label, "a list that contains itself")


def _text_error(label: str, found: str) -> VariableTypeError:
    return VariableTypeError(f"{label} cannot be written as text, got {found}")


def _number_text(value: object) -> str:
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, float | Decimal) or not math.isfinite(value):
        raise ValueError
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN_FLOAT:
        return str(int(value))
    return str(value)


def _iso_text(value: date | time) -> str:
    """Return a date or time in ISO 8601; one in UTC as JavaScript writes it."""
    if not isinstance(value, datetime) or value.utcoffset() != _UTC:
        return value.isoformat()
    precision = "microseconds" if value.microsecond % 1000 else "milliseconds"
    return f"{value.isoformat(timespec=precision)[:-6]}Z"


def to_json_scalar(value: object) -> object:
    """Return the JSON form of a date, a UUID or an Enum; any other value unchanged."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date | time):
        return _iso_text(value)
    if isinstance(value, UUID):
        return str(value)
    return value


def check_levels(value: object, path: str, name: str = "") -> None:
    """Raise ConfigError for a structure that is nested too deeply, or contains itself."""
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        # Each container is visited once, even if it occurs several times.
        level = list({id(item): item for item in _items_of(level)}.values())
        if not level:
            return
    raise ConfigError({path: [f"must not have more than {MAX_LEVELS} levels"]}, name)


def levels_of(value: object) -> Iterator[list[object]]:
    """Yield the values of a structure level by level, from the structure itself on."""
    level = [value]
    while level:
        yield level
        level = list(_items_of(level))


def _items_of(values: Iterable[object]) -> Iterator[object]:
    """Yield the items of the objects and lists among values."""
    for value in values:
        if isinstance(value, SCALARS):
            continue
        if isinstance(value, list | tuple):
            yield from value
        elif isinstance(value, Mapping):
            yield from value.values()
