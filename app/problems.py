"""Problems and warnings of settings and models, collected to report all of them at once."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

# How similar a known word must be to be suggested, and to count as the misspelt one.
SIMILAR = 0.6
MISSPELT = 0.8
_KINDS: dict[type, str] = {
    str: "a string",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
}


class ConfigurationError(Exception):
    """A setting, or something that it refers to, is invalid; the message is one sentence."""


class Problem(NamedTuple):
    """A problem or a warning, and its path: `operations[0].template.url`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Problems:
    """Collects problems, which are errors, and warnings; duplicates are dropped.

    If lenient, as for applications of LoopBack 3, unknown names may be warnings.
    """

    def __init__(self, is_lenient: bool = False) -> None:
        self._is_lenient = is_lenient
        # Dicts used as ordered sets.
        self.errors: dict[Problem, None] = {}
        self._unknown: dict[Problem, None] = {}
        self.warned: dict[Problem, None] = {}
        self._logged = 0

    @property
    def found(self) -> list[str]:
        """The problems as text.

        Unknown names are only among them if there is no other problem: what they name may be in a
        file that cannot be read.
        """
        return list(map(str, self.errors or self._unknown))

    @property
    def warnings(self) -> list[str]:
        """The warnings as text."""
        return list(map(str, self.warned))

    def add(self, path: str, message: str) -> None:
        """Add a problem."""
        self.errors[Problem(path, message)] = None

    def warn(self, path: str, message: str) -> None:
        """Add a warning."""
        self.warned[Problem(path, message)] = None

    def add_unknown(self, path: str, message: str) -> None:
        """Add a problem about the name of something that does not exist."""
        self._unknown[Problem(path, message)] = None

    def report_unknown(self, path: str, message: str, effect: str = "") -> None:
        """Add such a problem; if lenient, a warning, which begins with the effect."""
        if self._is_lenient:
            self.warn(path, f"{effect}: {message}" if effect else message)
        else:
            self.add_unknown(path, message)

    def has_error(self, path: str) -> bool:
        """Return True if there is a problem at this path or below it."""
        below = (f"{path}.", f"{path}[")
        return any(error.path == path or error.path.startswith(below) for error in self.errors)

    def new_warnings(self) -> list[str]:
        """Return the warnings since the last call."""
        new, self._logged = self.warnings[self._logged :], len(self.warned)
        return new

    def check_keys(
        self, path: str, given: Iterable[str], known: Iterable[str], ignored: Iterable[str] = ()
    ) -> None:
        """Report unknown keys: misspelt ones as problems, others as warnings.

        Keys in `ignored` have no effect; misspelt ones are no problem.
        """
        known, ignored = list(known), list(ignored)
        for key in given:
            if key in known or key in ignored:
                continue
            if meant := suggest(key, known, MISSPELT):
                self.add(f"{path}.{key}", f"there is no such key{meant}")
            else:
                self.warn(f"{path}.{key}", "is ignored")

    def describe(self, subject: str) -> str:
        """Return one text with all problems, one on each line."""
        return "\n  ".join([f"{subject} cannot be used:", *self.found])


def suggest(word: str, known: Iterable[str], similarity: float = SIMILAR) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else an empty string."""
    similar = closest(word, known, similarity)
    return f"; did you mean '{similar}'?" if similar else ""


def closest(word: str, known: Iterable[str], similarity: float = SIMILAR) -> str | None:
    """Return the most similar known word, in any case, if there is one."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=similarity)
    return by_lower[close[0]] if close else None


def describe_error(error: BaseException) -> str:
    """Return an error's message on one line, without its code, which may have a secret."""
    try:
        words = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        # Of a class whose own code fails.
        words = ""
    return ": ".join(filter(None, [type(error).__name__, " ".join(words.split())]))


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
