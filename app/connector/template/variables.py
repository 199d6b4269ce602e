"""The variables of a template: what is declared about each, and resolving given values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.connector.errors import MissingVariableError, VariableTypeError
from app.connector.problems import Problems, described, join, suggest
from app.connector.redaction import leaves
from app.connector.settings.environment import environment_values
from app.connector.values import PHRASES, READERS, EnvText

from .scanner import Token

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Variable:
    """What is known about one variable; `source` is the root it occurs in.

    One without a declared type is shown as a string and keeps whatever value it is given.
    """

    name: str
    type: str = "string"
    default: Any = field(default=None, repr=False)
    required: bool = False
    doc: str | None = None
    enum: tuple[Any, ...] = field(default=(), repr=False)
    secret: bool = False
    source: str = ""
    reader: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    def resolve(self, value: Any) -> Any:
        """Return the value to send: given, else default, else None; 0, false and "" are values."""
        if value is None:
            return self._resolve_missing()
        if self.reader is not None:
            value = self._read(self.reader, value)
        if self.enum and value not in self.enum:
            raise VariableTypeError(self._enum_message(value))
        return value

    def _resolve_missing(self) -> Any:
        if self.default is not None:
            return copy.deepcopy(self.default)
        if self.required:
            raise MissingVariableError(f"Required variable {self.name} has no value")
        return None

    def _read(self, reader: Callable[[Any], Any], value: Any) -> Any:
        try:
            return reader(value)
        except (ValueError, OverflowError):
            message = f"Variable {self.name} must be {PHRASES[self.type]}"
        raise VariableTypeError(message if self.secret else f"{message}, got {_short(value)}")

    def _enum_message(self, value: Any) -> str:
        if self.secret:
            return f"Variable {self.name} has a value that is not allowed"
        allowed = ", ".join(map(repr, self.enum))
        return f"Variable {self.name} must be one of {allowed}, got {_short(value)}"


def _short(value: Any) -> str:
    if not isinstance(value, str | bool | float):
        return described(value)
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A token at a place of the template, below one of its root properties."""

    token: Token
    root: str
    place: str


class Declarations:
    """Gathers what the texts of a template say about its variables."""

    def __init__(self, problems: Problems, url_place: str = "") -> None:
        self.problems = problems
        self.url_place = url_place
        self.occurrences: list[Occurrence] = []

    def note(self, token: Token, root: str, place: str) -> None:
        """Remember one occurrence and check its type word."""
        if token.type is not None and token.type not in READERS:
            known = ", ".join(READERS)
            hint = suggest(token.type, READERS)
            self.problems.add(
                place, f"variable {token.name}: unknown type '{token.type}' (known: {known}){hint}"
            )
        elif token.type == "path" and root != "url":
            self.problems.add(place, f"variable {token.name}: type 'path' belongs into the url")
        self.occurrences.append(Occurrence(token, root, place))

    def table(self, section: Mapping[str, Any], place: str = "variables") -> dict[str, Variable]:
        """Merge all occurrences and the `variables` section into one table by name."""
        names = dict.fromkeys(occurrence.token.name for occurrence in self.occurrences)
        return {
            name: self._declare(name, section.get(name) or {}, join(place, name)) for name in names
        }

    def _declare(self, name: str, extra: Mapping[str, Any], place: str) -> Variable:
        found = [known for known in self.occurrences if known.token.name == name]
        places = [known.place for known in found if known.token.default is not None]
        types = [known.token.type for known in found if known.token.type in READERS]
        defaults = [known.token.default for known in found if known.token.default is not None]
        declared = extra.get("type") or (types[-1] if types else None)
        default = extra.get("default", defaults[-1] if defaults else None)
        enum = extra.get("enum") or ()
        doc = extra.get("doc")
        variable = Variable(
            name,
            type=declared or "string",
            required=extra.get("required", any(known.token.required for known in found)),
            doc=None if isinstance(doc, EnvText) else doc,
            enum=tuple(enum),
            # What comes from the environment is a secret, whatever the settings say.
            secret=extra.get("secret", False) or bool(environment_values([default, enum])),
            source=found[-1].root,
            reader=READERS.get(declared) if declared else None,
        )
        return self._with_default(variable, default, places[-1] if places else place)

    def _with_default(self, variable: Variable, default: Any, place: str) -> Variable:
        try:
            return replace(variable, default=None if default is None else variable.resolve(default))
        except VariableTypeError as error:
            self.problems.add(place, f"the default does not fit: {error}")
        return variable


def secret_values(variables: Iterable[Variable], values: Mapping[str, Any]) -> list[str]:
    """Return the values that must never be printed."""
    return [text for known in variables if known.secret for text in leaves(values.get(known.name))]


def is_scanned(value: Any) -> bool:
    """Tell whether a setting is text in which variables are looked for."""
    return isinstance(value, str) and not isinstance(value, EnvText)
