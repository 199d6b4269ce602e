"""Compiling a structure with variables once and building it afresh for every call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from app.connector.errors import VariableError
from app.connector.problems import ErrorCollector, join_path
from app.connector.values import MISSING, to_text

from .scanner import Token, scan
from .variables import Variable, VariableCollector, may_hold_variables


class Node(Protocol):
    """A compiled part of a template."""

    def build(self, values: Mapping[str, Any]) -> Any:
        """Make the part from resolved values."""


class ConstantNode:
    """A value without variables."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def build(self, values: Mapping[str, Any]) -> Any:
        """Return the value as it is."""
        return self.value


class VariableNode:
    """A text that is one variable and nothing else: the value keeps its own type."""

    def __init__(self, name: str, missing: Any = None) -> None:
        self.name = name
        self.missing = missing

    def build(self, values: Mapping[str, Any]) -> Any:
        """Return the value itself."""
        value = values[self.name]
        return self.missing if value is None else value


class TextNode:
    """A text with variables in it."""

    def __init__(self, pieces: list[str | Token]) -> None:
        self.pieces = [
            (piece, "") if isinstance(piece, str) else ("", piece.name) for piece in pieces
        ]

    def build(self, values: Mapping[str, Any]) -> str:
        """Join the literal pieces and the values written as text."""
        return "".join(
            [
                to_text(values[name], f"Variable {name}") if name else literal
                for literal, name in self.pieces
            ]
        )


class ObjectNode:
    """A dict; its keys may hold variables too."""

    def __init__(self, entries: list[tuple[str | Node, Node]]) -> None:
        self.entries = entries

    def build(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Make a new dict, without the entries that are to be left out."""
        built = {}
        for key, node in self.entries:
            value = node.build(values)
            if value is not MISSING:
                built[key if isinstance(key, str) else _built_key(key, values)] = value
        return built


def _built_key(node: Node, values: Mapping[str, Any]) -> str:
    key = to_text(node.build(values), "An object key")
    if not key:
        raise VariableError("A variable in an object key has no value")
    return key


class ArrayNode:
    """A list."""

    def __init__(self, items: list[Node]) -> None:
        self.items = items

    def build(self, values: Mapping[str, Any]) -> list[Any]:
        """Make a new list, without the items that are to be left out."""
        built = [node.build(values) for node in self.items]
        return [value for value in built if value is not MISSING]


class Compiler:
    """Compiles the parts of one template and notes their variables."""

    def __init__(self, collector: VariableCollector) -> None:
        self.collector = collector

    def compile(self, value: Any, root: str, path: str, *, missing: Any = None) -> Node:
        """Compile a part; `missing` is what a whole value becomes when it has no value."""
        if isinstance(value, dict):
            return ObjectNode(
                [
                    (
                        self._key(key, root, path),
                        self.compile(item, root, join_path(path, key), missing=missing),
                    )
                    for key, item in value.items()
                ]
            )
        if isinstance(value, list):
            items = enumerate(value)
            return ArrayNode(
                [self.compile(v, root, join_path(path, i), missing=missing) for i, v in items]
            )
        return (
            self._text(value, root, path, missing)
            if may_hold_variables(value)
            else ConstantNode(value)
        )

    def _key(self, key: str, root: str, path: str) -> str | Node:
        node = self._text(key, root, join_path(path, key), None)
        return key if isinstance(node, ConstantNode) else node

    def _text(self, text: str, root: str, path: str, missing: Any) -> Node:
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
    """Any structure with variables, compiled: `Template({"a": "{x=1:number}"}).build({"x": 5})`."""

    def __init__(self, source: Any, variables: Mapping[str, Any] | None = None) -> None:
        errors = ErrorCollector()
        collector = VariableCollector(errors)
        self._node = Compiler(collector).compile(source, "body", "template")
        self.variables: dict[str, Variable] = collector.merge(variables or {})
        errors.raise_any()

    def build(self, values: Mapping[str, Any] | None = None) -> Any:
        """Make a new structure; values are put in once and never scanned."""
        return self._node.build(resolve(self.variables, values or {}))


def resolve(variables: Mapping[str, Variable], given: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve every variable of a template from the given values."""
    return {name: known.resolve(given.get(name)) for name, known in variables.items()}
