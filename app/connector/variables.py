"""Variables of templates, and the nodes that calls build from their values."""

import copy
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from app.problems import type_name

from .errors import MissingVariableError, VariableError, VariableTypeError
from .redaction import scalar_texts
from .types import JsonObject, JsonValue, Values
from .values import MISSING, TYPES, Coercer, to_text

_MAX_SHOWN_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Token:
    """One occurrence of a variable in a text.

    `path` is that of the text, and `root` the template's property (`url`, `query`, …) with the
    text; `scan` leaves both empty.
    """

    name: str
    type: str | None = None
    default: str | None = None
    required: bool = False
    root: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """The declaration of a variable; `source` is the template property that it occurs in.

    A variable without type is documented as a string and accepts any value.

    >>> Template("{x=1:number}").variables["x"].resolve("2")
    2
    """

    name: str
    type: str = "string"
    default: JsonValue = field(default=None, repr=False)
    required: bool = False
    doc: str | None = None
    enum: tuple[object, ...] = field(default=(), repr=False)
    secret: bool = False
    source: str = ""
    coercer: Coercer | None = field(default=None, repr=False, compare=False)

    @property
    def needs_value(self) -> bool:
        """Whether a call has to give a value."""
        return self.required and self.default is None

    def resolve(self, value: object) -> object:
        """Return the given value, else the default, else None; 0, false and "" are values."""
        if value is None:
            return self._resolve_missing()
        if self.coercer is not None:
            value = self._coerce(self.coercer, value)
        if self.enum and value not in self.enum:
            raise VariableTypeError(self._enum_message(value))
        return value

    def _resolve_missing(self) -> object:
        if self.default is not None:
            return copy.deepcopy(self.default)
        if self.required:
            raise MissingVariableError(f"Required variable {self.name} has no value")
        return None

    def _coerce(self, coercer: Coercer, value: object) -> object:
        with suppress(ValueError, OverflowError):
            return coercer(value)
        # Outside of the block: the coercer's error may contain the value.
        message = f"Variable {self.name} must be {TYPES[self.type].phrase}"
        raise VariableTypeError(message if self.secret else f"{message}, got {_short(value)}")

    def _enum_message(self, value: object) -> str:
        if self.secret:
            return f"Variable {self.name} has a value that is not allowed"
        allowed = ", ".join(map(repr, self.enum))
        return f"Variable {self.name} must be one of {allowed}, got {_short(value)}"


def _short(value: object) -> str:
    if not isinstance(value, str | bool | float):
        return type_name(value)
    text = repr(value[: _MAX_SHOWN_LENGTH + 1] if isinstance(value, str) else value)
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}..."


def resolve(variables: Mapping[str, Variable], given: Values) -> dict[str, object]:
    """Resolve every variable of a template from the given values."""
    return {name: known.resolve(given.get(name)) for name, known in variables.items()}


def secret_values(variables: Iterable[Variable], values: Values) -> list[str]:
    """Return the values of secret variables as text."""
    return [
        text for known in variables if known.secret for text in scalar_texts(values.get(known.name))
    ]


class Node(Protocol):
    """A compiled part of a template."""

    def build(self, values: Values) -> JsonValue:
        """Return the part for the resolved values."""


@dataclass(frozen=True, slots=True)
class ConstantNode:
    """A value without variables."""

    value: object

    def build(self, values: Values) -> object:
        """Return the value as it is."""
        return self.value


@dataclass(frozen=True, slots=True)
class VariableNode:
    """A text that is a single variable; its value keeps its type."""

    name: str
    missing: object = None

    def build(self, values: Values) -> object:
        """Return the value itself."""
        value = values[self.name]
        return self.missing if value is None else value


class TextNode:
    """A text with variables in it."""

    def __init__(self, pieces: list[str | Token]) -> None:
        self.pieces = [
            (piece, "") if isinstance(piece, str) else ("", piece.name) for piece in pieces
        ]

    def build(self, values: Values) -> str:
        """Return the literal pieces and the values joined as text."""
        return "".join(
            [
                to_text(values[name], f"Variable {name}") if name else literal
                for literal, name in self.pieces
            ]
        )


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """An object; its keys may have variables too."""

    entries: list[tuple[str | Node, Node]]

    def build(self, values: Values) -> JsonObject:
        """Return a new dict without the entries that are MISSING."""
        built = {}
        for key, node in self.entries:
            value = node.build(values)
            if value is not MISSING:
                built[key if isinstance(key, str) else _built_key(key, values)] = value
        return built


def _built_key(node: Node, values: Values) -> str:
    key = to_text(node.build(values), "An object key")
    if not key:
        raise VariableError("A variable in an object key has no value")
    return key


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """A list."""

    items: list[Node]

    def build(self, values: Values) -> list[JsonValue]:
        """Return a new list without the items that are MISSING."""
        built = [node.build(values) for node in self.items]
        return [value for value in built if value is not MISSING]
