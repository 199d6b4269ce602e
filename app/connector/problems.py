"""Collecting configuration problems by place, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from .errors import ConfigError


class Problems:
    """A growing list of problems, each at a place such as `operations[0].template.url`."""

    def __init__(self) -> None:
        self.errors: dict[str, list[str]] = {}
        self.warnings: dict[str, list[str]] = {}

    def add(self, place: str, message: str) -> None:
        """Note something that makes the settings unusable."""
        self._note(self.errors, place, message)

    def warn(self, place: str, message: str) -> None:
        """Note something that works and is probably not meant."""
        self._note(self.warnings, place, message)

    def touches(self, place: str) -> bool:
        """Tell whether a problem lies at this place or below it."""
        return any(
            known == place or known.startswith((f"{place}.", f"{place}[")) for known in self.errors
        )

    def raise_any(self, name: str = "") -> None:
        """Raise one ConfigError with everything noted so far, if there is anything."""
        if self.errors:
            raise ConfigError(self.errors, name)

    def masked(self, mask: Callable[[str], str]) -> Problems:
        """Return the same problems with every message masked."""
        masked = Problems()
        for notes, shown in ((self.errors, masked.errors), (self.warnings, masked.warnings)):
            shown.update({place: list(map(mask, texts)) for place, texts in notes.items()})
        return masked

    @staticmethod
    def _note(notes: dict[str, list[str]], place: str, message: str) -> None:
        messages = notes.setdefault(place, [])
        if message not in messages:
            messages.append(message)


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` when one of the known words is close, else nothing."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), by_lower, n=1)
    return f"; did you mean '{by_lower[close[0]]}'?" if close else ""


def join(place: str, key: str | int) -> str:
    """Extend a place by a key or an index."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    return f"{place}.{key}" if place else key


def described(value: object) -> str:
    """Name the JSON kind of a value for a message: `a string`, `an object`, `null`."""
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
