"""Compiling templates: structures with variables in their texts, and their declarations."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from app.problems import Problems, closest, join_path

from .errors import VariableTypeError, raise_problems
from .types import JsonObject, JsonValue, Settings, Values
from .values import TYPES, EnvText, check_levels, environment_values, known_type
from .variables import (
    ArrayNode,
    ConstantNode,
    Node,
    ObjectNode,
    TextNode,
    Token,
    Variable,
    VariableNode,
    resolve,
)

_HEAD = re.compile(r"\{([!^]?)([A-Za-z_$][A-Za-z0-9_$]*)\s*")
_BRACE = re.compile("[{}]")
_TYPE = re.compile(r":([A-Za-z0-9_]+)\}")


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


class VariableCollector:
    """Collects the declarations of variables from the texts of a template."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.tokens: list[Token] = []

    def add(self, token: Token, root: str, path: str) -> None:
        """Add one occurrence and check its type."""
        type_ = self._known_type(token.type, token.name, path) if token.type else None
        if type_ == "path" and root != "url":
            self.problems.add(path, f"variable {token.name}: type 'path' is only for the url")
        self.tokens.append(replace(token, type=type_, root=root, path=path))

    def _known_type(self, word: str, name: str, path: str) -> str:
        known = known_type(word) or closest(word, TYPES) or "any"
        if known != word.lower():
            self.problems.warn(path, f"variable {name}: unknown type '{word}' is read as '{known}'")
        return known

    def merge(self, section: Settings, path: str = "variables") -> dict[str, Variable]:
        """Return the variables by name, declared by all occurrences and the `variables` section."""
        names = dict.fromkeys(token.name for token in self.tokens)
        return {
            name: self._declare(name, section.get(name) or {}, join_path(path, name))
            for name in names
        }

    def _declare(self, name: str, extra: Settings, path: str) -> Variable:
        """Return the variable as declared by its occurrences and its entry in `variables`."""
        found = [token for token in self.tokens if token.name == name]
        if "type" in extra:
            word = self._known_type(extra["type"], name, join_path(path, "type"))
            extra = {**extra, "type": word}
        inline, place = _inline(found)
        declared = {**inline, **extra}
        type_, default = declared["type"], declared["default"]
        enum = tuple(declared.get("enum") or ())
        variable = Variable(
            name,
            type=type_ or "string",
            required=declared["required"],
            doc=_public_text(declared.get("doc")),
            enum=enum,
            # Values from the environment are always secrets.
            secret=declared.get("secret", False) or bool(environment_values([default, enum])),
            source=found[-1].root,
            coercer=TYPES[type_ or "any"].read,
        )
        return self._with_default(variable, default, place or path)

    def _with_default(self, variable: Variable, default: object, path: str) -> Variable:
        try:
            return replace(variable, default=None if default is None else variable.resolve(default))
        except VariableTypeError as error:
            self.problems.add(path, f"invalid default: {error}")
        return variable


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


def _inline(tokens: list[Token]) -> tuple[JsonObject, str]:
    """Return what a variable's occurrences declare, the last first, and the default's path."""
    types = [token.type for token in tokens if token.type]
    defaults = [(token.default, token.path) for token in tokens if token.default is not None]
    default, place = defaults[-1] if defaults else (None, "")
    return {
        "type": types[-1] if types else None,
        "default": default,
        "required": any(token.required for token in tokens),
    }, place


def _public_text(text: str | None) -> str | None:
    return None if isinstance(text, EnvText) else text


def may_hold_variables(value: object) -> TypeGuard[str]:
    """Return True if a setting may have variables: a string that is not from the environment."""
    return isinstance(value, str) and not isinstance(value, EnvText)


def scan(text: str) -> list[str | Token]:
    """Split a text into literal pieces and variables."""
    pieces: list[str | Token] = []
    closing = _closing_braces(text)
    start = 0
    for head in _HEAD.finditer(text):
        found = _token(text, head, closing) if head.start() >= start else None
        if found is None:
            continue
        if head.start() > start:
            pieces.append(text[start : head.start()])
        token, start = found
        pieces.append(token)
    if start < len(text):
        pieces.append(text[start:])
    return pieces


def _token(text: str, head: re.Match[str], closing: Mapping[int, int]) -> tuple[Token, int] | None:
    """Return the variable that starts with this head, and the position of its end."""
    required, name, at = bool(head[1]), head[2], head.end()
    if text.startswith("}", at):
        return Token(name, required=required), at + 1
    if text.startswith("=", at):
        end = closing.get(head.start())
        if end is None:
            return None
        return _token_with_default(text[at + 1 : end], name, required), end + 1
    word = _TYPE.match(text, at)
    return (Token(name, word[1], required=required), word.end()) if word else None


def _token_with_default(text: str, name: str, required: bool) -> Token:
    default, colon, word = text.rpartition(":")
    if not (colon and known_type(word)):
        default, word = text, ""
    return Token(name, word or None, default, required)


def _closing_braces(text: str) -> dict[int, int]:
    """Return the position of the closing brace for each opening one that has one."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closing[opened.pop()] = brace.start()
    return closing
