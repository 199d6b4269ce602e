"""Regular expressions of filters: a subset whose cost is that of `like`.

Expressions with groups or repeated parts can take exponential time. The subset has text, `.`,
`.*`, `.+`, classes such as `[a-z]`, `\\d`, `\\w`, `\\s`, the anchors `^` and `$`, and `|` between
alternatives. It is translated to GLOB on SQLite and to a regular expression on PostgreSQL.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, groupby
from typing import NamedTuple

from app.errors import InvalidFilter

from .patterns import CLASS_COST, FOLD, LikePattern, cost

# `/text/i`, as JavaScript writes an expression with its flags.
DELIMITED = re.compile(r"/(.*)/(i?)", re.DOTALL)
RANGE = r"(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])"
TOKENS = re.compile(
    rf"""
    (?P<mark>[|^$])(?![*+?{{])
  | (?P<wild>\.[*+]?(?![*+?{{]))
  | \\(?P<named>[dws])(?![*+?{{])
  | \[(?P<members>\^?(?:{RANGE}|[^\W_]|[_ .@,:])+-?)\](?![*+?{{])
  | (?:\\(?P<escaped>[^\w])|(?P<literal>[^][.\\|()^$*+?{{}}]))(?![*+?{{])
    """,
    re.VERBOSE | re.DOTALL,
)
NAMED = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \t\n\r\f\v"}
# A range or a character of a class.
MEMBER = re.compile(r"(.)-(.)|.", re.DOTALL)
GLOB_SPECIAL = "*?["
LIKE_SPECIAL = "%_\\"
SUPPORTED = (
    "takes text, ., .*, .+, classes like [a-z], \\d, \\w, \\s, ^, $ and |, without groups and"
    " other repetitions"
)


class Expression(NamedTuple):
    """One alternative: whether it is anchored at either end, and its parts."""

    at_start: bool
    at_end: bool
    # Each is a character, `.`-like wildcard or class, as (kind, text).
    parts: Sequence[tuple[str, str]]

    def as_glob(self) -> str:
        """Return the pattern of SQLite's GLOB."""
        start, end = "" if self.at_start else "*", "" if self.at_end else "*"
        return start + "".join(_as_glob(*part) for part in self.parts) + end

    def as_regexp(self) -> str:
        """Return the regular expression for PostgreSQL."""
        start, end = "^" if self.at_start else "", "$" if self.at_end else ""
        return start + "".join(_as_regexp(*part) for part in self.parts) + end

    def searched(self) -> int:
        """Return how many ASCII characters are compared at every character of a text, by cost."""
        return sum(_cost(*part) for part in self._searched_parts())

    def _searched_parts(self) -> Iterator[tuple[str, str]]:
        """Return the parts that are not compared with the start of a text alone."""
        if not self.at_start:
            return iter(self.parts)
        return dropwhile(lambda part: part not in (("wild", ".*"), ("wild", ".+")), self.parts)

    def folded(self) -> "Expression":
        """Return the expression with A to Z as a to z."""
        return self._replace(parts=[(kind, text.translate(FOLD)) for kind, text in self.parts])


Alternative = LikePattern | Expression


def parse_regexp(path: str, text: str) -> tuple[tuple[Alternative, ...], bool]:
    """Return the alternatives, and whether they ignore the case; raise InvalidFilter."""
    delimited = DELIMITED.fullmatch(text)
    pattern, flags = (delimited[1], delimited[2]) if delimited else (text, "")
    parsed = (_parse(path, tokens) for tokens in _split(path, pattern))
    return tuple(_as_like(expression) or expression for expression in parsed), flags == "i"


def _as_like(expression: Expression) -> LikePattern | None:
    """Return the equivalent pattern of `like`, if there are no wildcards and classes."""
    if any(kind != "literal" for kind, _ in expression.parts):
        return None
    text = "".join(rf"\{part}" if part in LIKE_SPECIAL else part for _, part in expression.parts)
    start, end = "" if expression.at_start else "%", "" if expression.at_end else "%"
    return LikePattern(start + text + end)


def _split(path: str, pattern: str) -> list[list[re.Match[str]]]:
    """Return the tokens of each alternative; raise InvalidFilter."""
    alternatives: list[list[re.Match[str]]] = [[]]
    place = 0
    while place < len(pattern):
        match = TOKENS.match(pattern, place)
        if match is None:
            raise InvalidFilter(f"{path} {SUPPORTED}.")
        if match["mark"] == "|":
            alternatives.append([])
        else:
            alternatives[-1].append(match)
        place = match.end()
    return alternatives


def _parse(path: str, tokens: list[re.Match[str]]) -> Expression:
    at_start = bool(tokens) and tokens[0]["mark"] == "^"
    at_end = len(tokens) > at_start and tokens[-1]["mark"] == "$"
    inner = tokens[at_start : len(tokens) - at_end]
    if any(token["mark"] for token in inner):
        raise InvalidFilter(f"{path} has ^ or $ that is not at an end.")
    _check_ranges(path, inner)
    return Expression(at_start, at_end, [_part(token) for token in inner])


def _check_ranges(path: str, tokens: list[re.Match[str]]) -> None:
    """Raise InvalidFilter for a range that no character is in."""
    for token in tokens:
        for member in MEMBER.finditer(token["members"] or ""):
            if member[1] and member[1] > member[2]:
                raise InvalidFilter(f"{path} has the range {member[0]}, which is out of order.")


def _part(match: re.Match[str]) -> tuple[str, str]:
    if match["wild"]:
        return "wild", match["wild"]
    if match["named"]:
        return "class", NAMED[match["named"]]
    if match["members"]:
        return "class", match["members"]
    return "literal", match["escaped"] or match["literal"]


def _cost(kind: str, text: str) -> int:
    """Return the cost of comparing a part with a character, in ASCII characters."""
    if kind == "class":
        return CLASS_COST + sum(map(cost, _shortened(text)))
    return cost(text)


def _shortened(members: str) -> str:
    """Return the members of a class in order, each once, and neighbours as a range.

    SQLite compares a character with each of them.
    """
    negation = "^" if members.startswith("^") else ""
    codes: set[int] = set()
    for member in MEMBER.finditer(members, len(negation)):
        first, last = member[1] or member[0], member[2] or member[0]
        codes.update(range(ord(first), ord(last) + 1))
    # It stands for itself at the end.
    hyphen = "-" if ord("-") in codes else ""
    ranges = _ranges(sorted(codes - {ord("-")}))
    return negation + "".join(map(_as_range, ranges)) + hyphen


def _ranges(codes: Sequence[int]) -> Iterator[list[str]]:
    """Yield the characters with these codes, neighbours together."""
    # Codes that follow each other are as far from their places.
    for _, run in groupby(enumerate(codes), key=lambda place: place[1] - place[0]):
        yield [chr(code) for _, code in run]


def _as_range(characters: Sequence[str]) -> str:
    if len(characters) < 3:
        return "".join(characters)
    return f"{characters[0]}-{characters[-1]}"


def _as_glob(kind: str, text: str) -> str:
    if kind == "wild":
        return {".": "?", ".*": "*", ".+": "?*"}[text]
    if kind == "class":
        return f"[{_shortened(text)}]"
    return f"[{text}]" if text in GLOB_SPECIAL else text


def _as_regexp(kind: str, text: str) -> str:
    if kind == "class":
        return f"[{_shortened(text)}]"
    return text if kind == "wild" or text.isalnum() else f"\\{text}"
