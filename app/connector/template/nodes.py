"""The nodes of a compiled template, from which every call builds new values."""

from dataclasses import dataclass
from typing import Protocol

from app.connector.errors import VariableError
from app.connector.types import JsonObject, JsonValue, Values
from app.connector.values import MISSING, to_text

from .scanner import Token


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
