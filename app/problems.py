"""Collecting the problems of models in JSON, so that all of them are reported at once."""

from collections.abc import Iterable
from difflib import get_close_matches

from app.config import ConfigurationError

# How similar a key must be to one that is known, to be taken for a misspelt one.
SIMILAR = 0.8


class Problems:
    """Problems and warnings, each with its place, such as `note.json: properties.age.type`."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.warnings: list[str] = []
        self._logged = 0

    def add(self, path: str, message: str) -> None:
        """Add a problem, unless it was found before: the models cannot be used."""
        _append(self.found, f"{path}: {message}")

    def warn(self, path: str, message: str) -> None:
        """Add a warning, unless there is the same: the models are used, but not all of them."""
        _append(self.warnings, f"{path}: {message}")

    def new_warnings(self) -> list[str]:
        """Return the warnings since the last call."""
        new, self._logged = self.warnings[self._logged :], len(self.warnings)
        return new

    def check_keys(
        self, path: str, given: Iterable[str], known: Iterable[str], ignored: Iterable[str] = ()
    ) -> None:
        """Report the keys that are not known: misspelt ones as problems, others as warnings.

        Those that are `ignored` have no effect, and are no problem if they are misspelt.
        """
        known, ignored = list(known), list(ignored)
        for key in given:
            if key in known or key in ignored:
                continue
            if meant := suggest(key, known):
                self.add(f"{path}.{key}", f"there is no such key{meant}")
            else:
                self.warn(f"{path}.{key}", "is ignored")

    def raise_any(self, subject: str) -> None:
        """Raise one ConfigurationError with all problems, if there are any."""
        if self.found:
            lines = "".join(f"\n  {each}" for each in self.found)
            raise ConfigurationError(f"{subject} cannot be used:{lines}")


def _append(lines: list[str], line: str) -> None:
    if line not in lines:
        lines.append(line)


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else an empty string."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=SIMILAR)
    return f"; did you mean '{by_lower[close[0]]}'?" if close else ""
