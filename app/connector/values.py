"""What a variable's value may be: the declared types and how a value is written as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn
from uuid import UUID

from .errors import VariableTypeError, translate_errors
from .problems import type_name

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+(?P<fraction>\.[0-9]*)?|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?"
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_LARGEST_PLAIN_FLOAT = 1e21


class _Missing:
    """The absence of a value, where null is a value."""


MISSING: Any = _Missing()


class EnvText(str):
    """Text that came from the environment: never scanned for variables, never printed."""

    __slots__ = ()


def environment_values(value: Any) -> list[str]:
    """Return every text of the settings that came from the environment."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in environment_values(item)]
    if isinstance(value, list):
        return [text for item in value for text in environment_values(item)]
    return [str(value)] if isinstance(value, EnvText) else []


def string(value: Any) -> Any:
    """Keep a scalar, of whatever type; an object or a list is no text."""
    if isinstance(value, Mapping | list | tuple):
        raise ValueError
    return value


def number(value: Any) -> int | float:
    """Read a finite number; a whole one is an int."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError
    if isinstance(value, str):
        return _number_from_text(value.strip())
    if isinstance(value, int):
        return value
    return _whole_or_float(float(value))


def _number_from_text(text: str) -> int | float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError
    if text.lstrip("+-").isdigit():
        return int(text)
    return _whole_or_float(float(text))


def _whole_or_float(value: float) -> int | float:
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() else value


def integer(value: Any) -> int:
    """Read a whole number."""
    whole = number(value)
    if not isinstance(whole, int):
        raise ValueError
    return whole


def boolean(value: Any) -> bool:
    """Read true, false, 1 or 0, as values or as text in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | str):
        text = str(value).lower()
        if text in _BOOLEANS:
            return _BOOLEANS[text]
    raise ValueError


def json_value(value: Any) -> Any:
    """Keep a structure or read it from JSON text."""
    if not isinstance(value, str):
        return value
    with translate_errors((ValueError, RecursionError), lambda _: ValueError("not JSON")):
        return json.loads(value, parse_constant=_refuse_constant)


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError


def json_object(value: Any) -> dict[str, Any]:
    """Keep a dict or read one from JSON text."""
    found = json_value(value)
    if not isinstance(found, dict):
        raise ValueError
    return found


def json_array(value: Any) -> list[Any] | tuple[Any, ...]:
    """Keep a list or read one from JSON text."""
    found = json_value(value)
    if not isinstance(found, list | tuple):
        raise ValueError
    return found


COERCERS: dict[str, Callable[[Any], Any] | None] = {
    "string": string,
    "any": None,
    "path": None,
    "number": number,
    "integer": integer,
    "boolean": boolean,
    "object": json_object,
    "array": json_array,
    "json": json_value,
}

TYPE_PHRASES: dict[str, str] = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "json": "JSON",
}


def to_text(value: Any, label: str) -> str:
    """Write a value as part of a text; `label` names it when that cannot be done."""
    plain = to_json_scalar(value)
    if isinstance(plain, str):
        return str(plain)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, list | tuple):
        return _list_text(plain, label)
    with translate_errors(ValueError, _text_error(label, type_name(value))):
        return _number_text(plain)


def _list_text(items: list[Any] | tuple[Any, ...], label: str) -> str:
    with translate_errors(RecursionError, _text_error(label, "a list that contains itself")):
        return ",".join([to_text(item, label) for item in items])


def _text_error(label: str, found: str) -> Callable[[Exception], VariableTypeError]:
    message = f"{label} cannot be written as text, got {found}"
    return lambda _: VariableTypeError(message)


def _number_text(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, float | Decimal) or not math.isfinite(value):
        raise ValueError
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN_FLOAT:
        return str(int(value))
    return str(value)


def to_json_scalar(value: Any) -> Any:
    """Turn a scalar such as a date, a UUID or an Enum into what JSON has; others come back."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value
