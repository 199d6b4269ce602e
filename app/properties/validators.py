"""Validators of a property, from its `validates`: length, format, in, min and max."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from marshmallow import ValidationError, validate

from .declaration import Declaration
from .types import PropertyType

Validator = Callable[[Any], object]

TEXTS, NUMBERS = ("string",), ("number", "integer", "decimal")
#: Maximum ways to divide a text among the repetitions of a `format`, which take 10 ms.
MAX_WAYS = 200_000
# Ways that take as long as loading and storing a value.
WAYS_PER_VALUE = 400
TOKENS = re.compile(
    r"""
    (?P<escape>\\[dDwWsSbB.\\/^$|?*+()[\]{}'"@:,;!%&#=<>~` -])
  | (?P<set>\[\^?\]?(?:\\.|[^]\\])*\])
  | (?P<open>\((?:\?:)?(?!\?))
  | (?P<close>\))
  | (?P<repeat>[*+?]|\{\d{1,4}(?:,\d{0,4})?\})\??
  | (?P<plain>[^\\[\](){}*+?])
    """,
    re.VERBOSE | re.DOTALL,
)


def read_validators(declared: Declaration, type_: PropertyType) -> list[Validator]:
    """Return the validators of a property."""
    if not isinstance(declared.value, Mapping | None):
        declared.add(f"must be an object with {', '.join(READERS)}")
        return []
    declared.check_keys(READERS)
    found = [_read(key, declared[key], type_) for key in declared.mapping if key in READERS]
    return [validator for validator in found if validator is not None]


def _read(key: str, declared: Declaration, type_: PropertyType) -> Validator | None:
    types, read = READERS[key]
    if type_.name not in types:
        declared.add(f"is for {', '.join(types)}")
        return None
    try:
        return read(declared.value, type_)
    except ValueError as error:
        declared.add(str(error))
        return None


def _length(declared: object, type_: PropertyType) -> Validator:
    if not isinstance(declared, Mapping) or not declared or declared.keys() - {"min", "max", "is"}:
        raise ValueError("must be an object with min, max or is")
    if any(type(value) is not int or value < 0 for value in declared.values()):
        raise ValueError("must be whole numbers")
    exact = declared.get("is")
    return _Length(declared.get("min", exact), declared.get("max", exact))


class _Length(validate.Length):
    """The limits on a text's length, with the same messages as all schemas."""

    def __call__(self, value: Any) -> Any:
        """Raise ValidationError for a text that is too short or too long."""
        if self.min is not None and len(value) < self.min:
            raise ValidationError(f"is too short (minimum is {self.min} characters)")
        if self.max is not None and len(value) > self.max:
            raise ValidationError(f"is too long (maximum is {self.max} characters)")
        return value


def _format(declared: object, type_: PropertyType) -> Validator:
    pattern = declared.get("with") if isinstance(declared, Mapping) else declared
    if not isinstance(pattern, str):
        raise ValueError("must be a regular expression")
    return Format(pattern, type_.make_field().max_length)  # type: ignore[attr-defined]


def _in(declared: object, type_: PropertyType) -> Validator:
    if not isinstance(declared, list) or not declared:
        raise ValueError("must be a list of values")
    values = [_of_type(value, type_) for value in declared]
    return validate.OneOf(values, error="must be one of {choices}")


def _min(declared: object, type_: PropertyType) -> Validator:
    return validate.Range(min=_of_type(declared, type_), error="must be at least {min}")


def _max(declared: object, type_: PropertyType) -> Validator:
    return validate.Range(max=_of_type(declared, type_), error="must be at most {max}")


def _of_type(value: object, type_: PropertyType) -> object:
    try:
        return type_.load(value)
    except ValidationError as error:
        raise ValueError(f"{value!r} {error.messages[0]}") from None


READERS: dict[str, tuple[tuple[str, ...], Callable[[object, PropertyType], Validator]]] = {
    "length": (TEXTS, _length),
    "format": (TEXTS, _format),
    "in": ((*TEXTS, *NUMBERS), _in),
    "min": (NUMBERS, _min),
    "max": (NUMBERS, _max),
}


class Format:
    """A validator: the text must match the expression, as with JavaScript's `RegExp.test`."""

    def __init__(self, pattern: str, max_length: int) -> None:
        """Compile an expression for texts of this length; raise ValueError if not supported."""
        self.pattern = pattern.removeprefix("/").removesuffix("/")
        try:
            self._compiled = re.compile(self.pattern, re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is no regular expression: {error}") from None
        self.ways = count_ways(self.pattern, max_length)
        if self.ways > MAX_WAYS:
            raise ValueError(
                f"takes too long for texts of {max_length} characters: begin it with ^, declare a"
                " smaller length, or repeat less"
            )

    def __call__(self, value: str) -> str:
        """Raise ValidationError for a text that does not match."""
        if not self._compiled.search(value):
            raise ValidationError("is invalid")
        return value

    @property
    def cost(self) -> int:
        """The cost of matching, in units of loading and storing a value."""
        return self.ways // WAYS_PER_VALUE


def count_ways(pattern: str, length: int) -> int:
    """Return a bound on the steps of a search in a text; raise ValueError.

    It is the product of the ranges of all repetitions. A nested repetition multiplies itself, so a
    group that contains a repetition must not be repeated.
    """
    ways = 1
    # Whether each open group, and the one just closed, contains a repetition.
    groups, closed = [False], False
    for token in _tokens(pattern):
        kind, was_closed, closed = token.lastgroup, closed, False
        if kind == "repeat" and was_closed:
            raise ValueError("repeats a group that has a repetition in it")
        if kind == "repeat":
            ways *= _range(token["repeat"], length)
            groups[-1] = True
        elif kind == "open":
            groups.append(False)
        elif kind == "close":
            closed = groups.pop()
            groups[-1] |= closed
    return ways if _is_anchored(pattern) else ways * length


def _is_anchored(pattern: str) -> bool:
    """Return True if an expression only matches at the start of a text."""
    depth = 0
    for token in _tokens(pattern):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if token[0] == "|" and depth == 0:
            return False
    return pattern.startswith("^")


def _tokens(pattern: str) -> Iterator[re.Match[str]]:
    place = 0
    while place < len(pattern):
        token = TOKENS.match(pattern, place)
        if token is None:
            raise ValueError(f"has {pattern[place : place + 2]!r}, which is not supported")
        yield token
        place = token.end()


def _range(repeat: str, length: int) -> int:
    """Return the number of different counts of a repetition."""
    if repeat == "?":
        return 2
    if repeat in "*+":
        return length
    least, comma, most = repeat.strip("{}").partition(",")
    if not comma:
        return 1
    return max(1, (int(most) if most else length) - int(least) + 1)
