"""Collecting the problems of a configuration, so that all of them are reported at once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .errors import ConfigError

#: Levels of a data source's settings, or of a template.
MAX_LEVELS = 50


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """Settings that can be used but are probably not intended: their path and likely meaning."""

    path: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.path}: {self.meaning}"


class ErrorCollector:
    """Errors by path, such as `operations[0].template.url`, and warnings."""

    def __init__(self) -> None:
        self.errors: dict[str, list[str]] = {}
        self._warnings: dict[ConfigWarning, None] = {}

    def add(self, path: str, message: str) -> None:
        """Add an error: the settings cannot be used."""
        messages = self.errors.setdefault(path, [])
        if message not in messages:
            messages.append(message)

    def warn(self, path: str, meaning: str) -> None:
        """Add a warning: the settings are used in the sense of `meaning`."""
        self._warnings[ConfigWarning(path, meaning)] = None

    def has_error(self, path: str) -> bool:
        """Tell whether there is an error at this path or below it."""
        return any(
            known == path or known.startswith((f"{path}.", f"{path}[")) for known in self.errors
        )

    def warnings(self, mask: Callable[[str], str]) -> list[ConfigWarning]:
        """Return the warnings, masked."""
        return [ConfigWarning(each.path, mask(each.meaning)) for each in self._warnings]

    def raise_any(self, name: str = "", mask: Callable[[str], str] = str) -> None:
        """Raise one ConfigError with all errors, masked, if there are any."""
        if self.errors:
            raise ConfigError({p: list(map(mask, texts)) for p, texts in self.errors.items()}, name)


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
    similar = closest(word, known)
    return f"; did you mean '{similar}'?" if similar else ""


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to a word, if there is one."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


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
