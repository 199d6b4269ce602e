"""Collecting the problems of a configuration, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from .errors import ConfigError

# Levels of settings or of a template.
MAX_LEVELS = 50


class ErrorCollector:
    """Errors and warnings by path, such as `operations[0].template.url`."""

    def __init__(self) -> None:
        self.errors: dict[str, list[str]] = {}
        self.warnings: dict[str, list[str]] = {}

    def add(self, path: str, message: str) -> None:
        """Add an error: the settings cannot be used."""
        self._append(self.errors, path, message)

    def warn(self, path: str, message: str) -> None:
        """Add a warning: the settings can be used, but are probably not intended."""
        self._append(self.warnings, path, message)

    def has_error(self, path: str) -> bool:
        """Tell whether there is an error at this path or below it."""
        return any(
            known == path or known.startswith((f"{path}.", f"{path}[")) for known in self.errors
        )

    def raise_any(self, name: str = "") -> None:
        """Raise one ConfigError with all errors, if there are any."""
        if self.errors:
            raise ConfigError(self.errors, name)

    def masked(self, mask: Callable[[str], str]) -> ErrorCollector:
        """Return a copy with every message masked."""
        masked = ErrorCollector()
        for messages_by_path, copies in (
            (self.errors, masked.errors),
            (self.warnings, masked.warnings),
        ):
            copies.update(
                {path: list(map(mask, texts)) for path, texts in messages_by_path.items()}
            )
        return masked

    @staticmethod
    def _append(messages_by_path: dict[str, list[str]], path: str, message: str) -> None:
        messages = messages_by_path.setdefault(path, [])
        if message not in messages:
            messages.append(message)


def check_levels(value: Any, path: str, name: str = "") -> None:
    """Raise ConfigError for a structure that is nested too deeply, or contains itself."""
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        # What occurs in several places is looked at once.
        level = list({id(item): item for item in _below(level)}.values())
        if not level:
            return
    raise ConfigError({path: [f"must not have more than {MAX_LEVELS} levels"]}, name)


def _below(level: list[Any]) -> Iterable[Any]:
    for value in level:
        if isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, list | tuple):
            yield from value


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else an empty string."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), by_lower, n=1)
    return f"; did you mean '{by_lower[close[0]]}'?" if close else ""


def join_path(path: str, key: str | int) -> str:
    """Extend a path by a key or an index."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def type_name(value: object) -> str:
    """Return the JSON type of a value for a message: `a string`, `an object`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: dict[type, str] = {
    str: "a string",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
}
