"""The variables of a template: how texts name them, their declarations and values."""

import copy
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from app.problems import Problems, closest, join_path, type_name

from .errors import MissingVariableError, VariableTypeError
from .redaction import scalar_texts
from .types import JsonObject, JsonValue, Settings, Values
from .values import TYPES, Coercer, EnvText, environment_values, known_type

_HEAD = re.compile(r"\{([!^]?)([A-Za-z_$][A-Za-z0-9_$]*)\s*")
_BRACE = re.compile("[{}]")
_TYPE = re.compile(r":([A-Za-z0-9_]+)\}")
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


def resolve(variables: Mapping[str, Variable], given: Values) -> dict[str, object]:
    """Resolve every variable of a template from the given values."""
    return {name: known.resolve(given.get(name)) for name, known in variables.items()}


def secret_values(variables: Iterable[Variable], values: Values) -> list[str]:
    """Return the values of secret variables as text."""
    return [
        text for known in variables if known.secret for text in scalar_texts(values.get(known.name))
    ]


def may_hold_variables(value: object) -> TypeGuard[str]:
    """Return True if a setting may have variables: a string that is not from the environment."""
    return isinstance(value, str) and not isinstance(value, EnvText)
