"""The operators of conditions, and how their operands are read."""

from collections.abc import Callable
from math import pi
from typing import Any

from app.errors import InvalidFilter, quote
from app.fields.json import parse_position

from .kinds import BOOLEAN, NUMBER, TEXT, Kind, Shape
from .patterns import LIKE, REGEXP, LikePattern, parse_regexp
from .tree import Near, Pattern

# The operators that `options: "i"` may accompany, and their replacements.
IGNORING_CASE = {
    "like": "ilike",
    "nlike": "nilike",
    "ilike": "ilike",
    "nilike": "nilike",
    "regexp": "iregexp",
}

NEAR_KEYS = {"near", "maxDistance", "minDistance", "unit"}
# The Earth's mean radius (IUGG 1980) in each unit; LoopBack 3's default is miles.
RADIUS = {
    "miles": 3958.7613,
    "kilometers": 6371.0088,
    "meters": 6371008.8,
    "feet": 20902260.0,
    "radians": 1.0,
    "degrees": 180 / pi,
}
# What is said of the properties of objects.
INSIDE = "; compare a property inside it, such as address.city"


def read_operand(name: str, word: str, kind: Kind, value: object) -> object:
    """Return the operand of a condition on a property of this kind; raise InvalidFilter."""
    operators = OPERATORS[kind.shape]
    read = _near if word == "near" else operators.get(word)
    if read is None:
        known = ", ".join(operators)
        raise InvalidFilter(f"{name} has no operator '{quote(word)}'; there are {known}.")
    return read(f"{name}.{word}", kind, value)


def kind_at_path(value: object) -> Kind:
    """Return the kind of the values at a path: that of the first operand."""
    operands = value if isinstance(value, list) else [value]
    first = next((operand for operand in operands if operand is not None), "")
    if isinstance(first, bool):
        return BOOLEAN
    return NUMBER if isinstance(first, int | float) else TEXT


def as_list(value: object, path: str) -> list[object]:
    """Return a list; raise InvalidFilter for anything else."""
    if not isinstance(value, list):
        raise InvalidFilter(f"{path} must be a list.")
    return value


def _near(path: str, kind: Kind, given: Any) -> Near:
    """Read `{"near": ..., "maxDistance": ..., "unit": ...}`."""
    if kind.shape is not Shape.POSITION:
        raise InvalidFilter(f"{path} is for positions.")
    name = path.removesuffix(".near")
    try:
        position = parse_position(given["near"])
    except ValueError:
        example = '{"lat": 52.5, "lng": 13.4}'
        raise InvalidFilter(f"{path} must be a position like {example}.") from None
    unit = given.get("unit", "miles")
    if not isinstance(unit, str) or unit not in RADIUS:
        raise InvalidFilter(f"{name}.unit must be one of {', '.join(RADIUS)}.")
    limits = {
        key: NUMBER.coerce(f"{name}.{key}", given[key]) / RADIUS[unit]
        for key in ("minDistance", "maxDistance")
        if key in given
    }
    return Near(position, limits.get("minDistance"), limits.get("maxDistance"), given)


def _operand(path: str, kind: Kind, value: object) -> object:
    return None if value is None else kind.coerce(path, value)


def _operands(path: str, kind: Kind, value: object) -> tuple[object, ...]:
    return tuple(_operand(path, kind, item) for item in as_list(value, path))


def _present(path: str, kind: Kind, value: object) -> object:
    if value is None:
        raise InvalidFilter(f"{path} must not be null.")
    return kind.coerce(path, value)


def _ends(path: str, kind: Kind, value: object) -> tuple[object, ...]:
    ends = as_list(value, path)
    if len(ends) != 2:
        raise InvalidFilter(f"{path} must be a list of two.")
    return tuple(_present(path, kind, end) for end in ends)


def read_flag(path: str, kind: Kind, value: object) -> bool:
    """Return a value from JSON or the query string as a bool; raise InvalidFilter."""
    if value not in (True, False, "true", "false"):
        raise InvalidFilter(f"{path} must be true or false.")
    return value in (True, "true")


def _null(path: str, kind: Kind, value: object) -> None:
    if value is not None:
        inside = "" if kind.shape is Shape.FILE else INSIDE
        raise InvalidFilter(f"{path} must be null{inside}.")


def _pattern(path: str, kind: Kind, value: object) -> Pattern:
    text, ignores_case = _text_of(path, kind, value), kind.is_lower or path.endswith("ilike")
    return Pattern(text, (LikePattern.parse(text, ignores_case),), ignores_case)


def _regexp(path: str, kind: Kind, value: object) -> Pattern:
    text, ignores_case = _text_of(path, kind, value), kind.is_lower or path.endswith("iregexp")
    return Pattern(text, *parse_regexp(path, text, ignores_case))


def _text_of(path: str, kind: Kind, value: object) -> str:
    if not kind.is_text or not isinstance(value, str):
        raise InvalidFilter(f"{path} must compare text with a text.")
    return value


# Returns an operand, from its path for errors, the property's kind and the client's value.
ReadOperand = Callable[[str, Kind, object], object]
NULL_OPERATORS: dict[str, ReadOperand] = {"eq": _null, "neq": _null, "exists": read_flag}
OPERATORS: dict[Shape, dict[str, ReadOperand]] = {
    Shape.SCALAR: {
        **dict.fromkeys(("eq", "neq"), _operand),
        **dict.fromkeys(("gt", "gte", "lt", "lte"), _present),
        "between": _ends,
        **dict.fromkeys(("inq", "nin"), _operands),
        **dict.fromkeys(LIKE, _pattern),
        **dict.fromkeys(REGEXP, _regexp),
        "exists": read_flag,
    },
    Shape.ARRAY: {
        **dict.fromkeys(("eq", "neq"), _operand),
        **dict.fromkeys(("inq", "nin"), _operands),
        "exists": read_flag,
    },
    Shape.OBJECT: NULL_OPERATORS,
    Shape.POSITION: NULL_OPERATORS,
    Shape.FILE: NULL_OPERATORS,
}
