"""Patterns of `like` and `regexp`.

In `like`, `%` matches any text and `_` any character; a backslash escapes both. SQLite compares a
pattern at every character of a text, so the cost is the product of the two lengths. The most common
pattern, literal text with `%` before or after it, is searched with `instr` and `substr` instead,
whose cost hardly depends on the pattern.

Regular expressions are a subset with the same cost; with groups or repeated parts they could take
exponential time. The subset has text, `.`, `.*`, `.+`, classes such as `[a-z]`, `\\d`, `\\w`,
`\\s`, the anchors `^` and `$`, and `|` between alternatives. It is translated to GLOB on SQLite
and to a regular expression on PostgreSQL.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from app.errors import InvalidFilter

# The operators with patterns, in the order of error messages.
LIKE = ("like", "nlike", "ilike", "nilike")
REGEXP = ("regexp", "iregexp")
PATTERN_OPERATORS = (*LIKE, *REGEXP)
# The operators that select rows without a match.
NEGATED = ("nlike", "nilike")
ESCAPE = "\\"
LIKE_TOKENS = re.compile(r"\\.|[^\\]", re.DOTALL)
# Literal text, optionally with % before and after it.
PLAIN = re.compile(r"(%?)((?:\\.|[^\\%_])+)(%?)", re.DOTALL)
GLOB_WILDCARDS = {"%": "*", "_": "?"}
# Case is only ignored for A to Z, as in SQLite's `lower`.
FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
# Cost in ASCII characters: of one that GLOB needs in brackets, of one beyond ASCII, and of a class
# of a regular expression in addition to its members.
BRACKETED_COST = 6
WIDE_COST = 3
CLASS_COST = 3
# `/text/i`: JavaScript's notation for an expression with flags.
DELIMITED = re.compile(r"/(.*)/(i?)", re.DOTALL)
RANGE = r"(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])"
REGEXP_TOKENS = re.compile(
    rf"""
    (?P<mark>[|^$])(?![*+?{{])
  | (?P<wild>\.[*+]?(?![*+?{{]))
  | \\(?P<named>[dws])(?![*+?{{])
  | \[(?P<members>\^?(?:{RANGE}|[^\W_]|[_ .@,:])+-?)\](?![*+?{{])
  | (?:\\(?P<escaped>[^\w])|(?P<literal>[^][.\\|()^$*+?{{}}]))(?![*+?{{])
    """,
    re.VERBOSE | re.DOTALL,
)
CLASSES_BY_LETTER = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \t\n\r\f\v"}
# A range or a character of a class.
CLASS_MEMBER = re.compile(r"(.)-(.)|.", re.DOTALL)
GLOB_SPECIAL = "*?["
LIKE_SPECIAL = "%_\\"
SUPPORTED_SYNTAX = (
    "takes text, ., .*, .+, classes like [a-z], \\d, \\w, \\s, ^, $ and |, without groups and"
    " other repetitions"
)


@dataclass(frozen=True)
class LikePattern:
    """A pattern of `like`, without an unpaired backslash at the end."""

    text: str

    @classmethod
    def parse(cls, text: str, ignores_case: bool) -> "LikePattern":
        """Return the pattern; if it ignores the case, it is for texts in lower case.

        A backslash at the end of the text is literal.
        """
        trailing = len(text) - len(text.rstrip(ESCAPE))
        complete = text + ESCAPE if trailing % 2 else text
        return cls(complete.translate(FOLD) if ignores_case else complete)

    def searched(self) -> int:
        """Return the cost, in ASCII characters, of a comparison at each character of a text."""
        return 0 if PLAIN.fullmatch(self.text) else sum(map(cost, self.text.partition("%")[2]))

    def as_glob(self) -> str:
        """Return the pattern of SQLite's GLOB."""
        return "".join(
            GLOB_WILDCARDS.get(token) or re.sub(r"([*?[])", r"[\1]", token[-1])
            for token in LIKE_TOKENS.findall(self.text)
        )

    def contained(self) -> str | None:
        """Return the searched text, if the pattern is text between two %."""
        return self._literal("%", "%")

    def end(self) -> str | None:
        """Return the searched suffix, if the pattern is % and text."""
        return self._literal("%", "")

    def _literal(self, before: str, after: str) -> str | None:
        plain = PLAIN.fullmatch(self.text)
        if plain is None or (plain[1], plain[3]) != (before, after):
            return None
        return re.sub(r"\\(.)", r"\1", plain[2], flags=re.DOTALL)


def cost(character: str) -> int:
    """Return the cost of comparing a character, in ASCII characters."""
    if character in "*?[":
        return BRACKETED_COST
    return 1 if character.isascii() else WIDE_COST


class Part(NamedTuple):
    """A character, wildcard or class, for GLOB, for PostgreSQL and, if it is text, for LIKE."""

    glob: str
    regexp: str
    # The cost of comparing it with a character, in ASCII characters.
    cost: int
    like: str | None = None


# The wildcards that match any number of characters.
MANY = (Part("*", ".*", 1), Part("?*", ".+", 1))
WILDCARDS = {part.regexp: part for part in (Part("?", ".", 1), *MANY)}


class Expression(NamedTuple):
    """One alternative: its parts, and whether it is anchored at either end."""

    at_start: bool
    at_end: bool
    parts: Sequence[Part]

    def as_glob(self) -> str:
        """Return the pattern of SQLite's GLOB."""
        start, end = "" if self.at_start else "*", "" if self.at_end else "*"
        return start + "".join(part.glob for part in self.parts) + end

    def as_regexp(self) -> str:
        """Return the regular expression for PostgreSQL."""
        start, end = "^" if self.at_start else "", "$" if self.at_end else ""
        return start + "".join(part.regexp for part in self.parts) + end

    def as_like(self) -> LikePattern | None:
        """Return the equivalent pattern of `like`, if there are no wildcards or classes."""
        texts = [part.like for part in self.parts if part.like is not None]
        if len(texts) < len(self.parts):
            return None
        start, end = "" if self.at_start else "%", "" if self.at_end else "%"
        return LikePattern(start + "".join(texts) + end)

    def searched(self) -> int:
        """Return the cost, in ASCII characters, of a comparison at each character of a text."""
        parts: Iterable[Part] = self.parts
        if self.at_start:
            # The parts before them are only compared with the start of a text.
            parts = dropwhile(lambda part: part not in MANY, parts)
        return sum(part.cost for part in parts)


Alternative = LikePattern | Expression


def parse_regexp(path: str, text: str, ignores_case: bool) -> tuple[tuple[Alternative, ...], bool]:
    """Return the alternatives, and whether they ignore the case; raise InvalidFilter.

    If so, they are for texts in lower case.
    """
    delimited = DELIMITED.fullmatch(text)
    pattern, flags = (delimited[1], delimited[2]) if delimited else (text, "")
    ignores_case = ignores_case or flags == "i"
    tokens = _split(path, pattern.translate(FOLD) if ignores_case else pattern)
    expressions = (_parse(path, alternative) for alternative in tokens)
    return tuple(expression.as_like() or expression for expression in expressions), ignores_case


def _split(path: str, pattern: str) -> list[list[re.Match[str]]]:
    """Return the tokens of each alternative; raise InvalidFilter."""
    alternatives: list[list[re.Match[str]]] = [[]]
    place = 0
    while place < len(pattern):
        match = REGEXP_TOKENS.match(pattern, place)
        if match is None:
            raise InvalidFilter(f"{path} {SUPPORTED_SYNTAX}.")
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
    return Expression(at_start, at_end, [_part(path, token) for token in inner])


def _part(path: str, token: re.Match[str]) -> Part:
    if token["wild"]:
        return WILDCARDS[token["wild"]]
    if members := CLASSES_BY_LETTER.get(token["named"] or "") or token["members"]:
        members = _shortened(path, members)
        return Part(f"[{members}]", f"[{members}]", CLASS_COST + sum(map(cost, members)))
    text = token["escaped"] or token["literal"]
    return Part(
        f"[{text}]" if text in GLOB_SPECIAL else text,
        text if text.isalnum() else f"\\{text}",
        cost(text),
        f"\\{text}" if text in LIKE_SPECIAL else text,
    )


def _shortened(path: str, members: str) -> str:
    """Return the distinct members of a class in order, adjacent ones as ranges.

    SQLite compares a character with each of them. Raises InvalidFilter for an empty range.
    """
    negation = "^" if members.startswith("^") else ""
    codes: set[int] = set()
    for member in CLASS_MEMBER.finditer(members, len(negation)):
        first, last = member[1] or member[0], member[2] or member[0]
        if first > last:
            raise InvalidFilter(f"{path} has the range {member[0]}, which is out of order.")
        codes.update(range(ord(first), ord(last) + 1))
    # At the end, `-` is literal.
    hyphen = "-" if ord("-") in codes else ""
    return negation + "".join(_ranges(sorted(codes - {ord("-")}))) + hyphen


def _ranges(codes: Sequence[int]) -> Iterator[str]:
    """Yield the characters with these codes; three or more adjacent ones as a range."""
    # For adjacent codes, the difference between code and index is the same.
    for _, run in groupby(enumerate(codes), key=lambda place: place[1] - place[0]):
        characters = [chr(code) for _, code in run]
        is_range = len(characters) > 2
        yield f"{characters[0]}-{characters[-1]}" if is_range else "".join(characters)
