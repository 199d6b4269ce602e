"""Compiling a structure with variables in its texts to nodes, from which calls build values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.problems import Problems, join_path

from .errors import VariableError, raise_problems
from .types import JsonObject, JsonValue, Settings, Values
from .values import MISSING, check_levels, to_text
from .variables import Token, Variable, VariableCollector, may_hold_variables, resolve, scan


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


class Compiler:
    """Compiles the parts of a template and collects their variables."""

    def __init__(self, collector: VariableCollector) -> None:
        self.collector = collector

    def compile(self, value: object, root: str, path: str, *, missing: object = None) -> Node:
        """Compile a part; a variable without value that is a whole value becomes `missing`."""

        def below(key: str | int, item: object) -> Node:
            return self.compile(item, root, join_path(path, key), missing=missing)

        if isinstance(value, dict):
            return ObjectNode([(self._key(k, root, path), below(k, v)) for k, v in value.items()])
        if isinstance(value, list):
            return ArrayNode([below(index, item) for index, item in enumerate(value)])
        if may_hold_variables(value):
            return self._text(value, root, path, missing)
        return ConstantNode(value)

    def declare(self, parts: Mapping[str, object], path: str) -> None:
        """Collect the variables of parts of a template."""
        for root, value in parts.items():
            self.compile(value, root, join_path(path, root))

    def _key(self, key: str, root: str, path: str) -> str | Node:
        node = self._text(key, root, join_path(path, key), None)
        return key if isinstance(node, ConstantNode) else node

    def _text(self, text: str, root: str, path: str, missing: object) -> Node:
        pieces = scan(text)
        for piece in pieces:
            if isinstance(piece, Token):
                self.collector.add(piece, root, path)
        if len(pieces) == 1 and isinstance(pieces[0], Token):
            return VariableNode(pieces[0].name, missing)
        if all(isinstance(piece, str) for piece in pieces):
            return ConstantNode(text)
        return TextNode(pieces)


class Template:
    """Any structure with variables in its texts.

    >>> template = Template({"user": {"name": "{^name}", "age": "{age=18:number}"}})
    >>> template.build({"name": "Mary"})
    {'user': {'name': 'Mary', 'age': 18}}
    """

    def __init__(self, source: object, variables: Settings | None = None) -> None:
        """Compile a structure; raise ConfigError with all of its problems.

        `variables` has further declarations by name, such as `{"age": {"enum": [18, 21]}}`.
        """
        check_levels(source, "template")
        check_levels(variables, "variables")
        problems = Problems()
        collector = VariableCollector(problems)
        self._node = Compiler(collector).compile(source, "body", "template")
        self.variables: dict[str, Variable] = collector.merge(variables or {})
        raise_problems(problems)

    def build(self, values: Values | None = None) -> JsonValue:
        """Return a new structure; variables in the given values are not replaced."""
        return self._node.build(resolve(self.variables, values or {}))
