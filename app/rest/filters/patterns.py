"""Patterns of `like`: `%` matches any text, `_` any character, and a backslash escapes either.

SQLite compares a pattern at every character of a text, so that its cost is the product of the two
lengths. Literal text with `%` before or after it, the most common pattern, is searched with `instr`
and `substr` instead, whose cost hardly depends on the pattern.
"""

import re

from sqlalchemy import ColumnElement

from app.database.dialects import ESCAPE, Contains, EndsWith, Like
from app.errors import InvalidFilter

LIKE = ("like", "nlike", "ilike", "nilike")
#: Characters of a pattern: a thousand texts of 10,000 characters are searched in 80 ms.
MAX_PATTERN = 100
PATTERN_TOKENS = re.compile(r"\\.|[^\\]", re.DOTALL)
# Literal text with an optional % before and after it.
LITERAL_PATTERN = re.compile(r"(%?)((?:\\.|[^\\%_])+)(%?)", re.DOTALL)
GLOB_WILDCARDS = {"%": "*", "_": "?"}
# ASCII characters that cost as much as one that GLOB takes in brackets, as one beyond ASCII, and as
# a class of a regular expression beside its members.
BRACKETED_COST = 6
WIDE_COST = 3
CLASS_COST = 3


def check_pattern(path: str, pattern: str) -> None:
    """Raise InvalidFilter for a pattern that is too long."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidFilter(f"{path} must not have more than {MAX_PATTERN} characters.")


def count_searched(pattern: str) -> int:
    """Return how many ASCII characters are compared at every character of a text, by their cost."""
    if LITERAL_PATTERN.fullmatch(complete_pattern(pattern)):
        return 0
    return sum(map(cost, pattern.partition("%")[2]))


def cost(character: str) -> int:
    """Return the cost of comparing a character, in ASCII characters."""
    if character in "*?[":
        return BRACKETED_COST
    return 1 if character.isascii() else WIDE_COST


def complete_pattern(pattern: str) -> str:
    """Return the pattern with an unpaired backslash at its end escaped."""
    trailing = len(pattern) - len(pattern.rstrip(ESCAPE))
    return pattern + ESCAPE if trailing % 2 else pattern


def matches(text: ColumnElement[str], pattern: str) -> ColumnElement[bool]:
    """Return the condition that a text matches a complete pattern."""
    literal_match = LITERAL_PATTERN.fullmatch(pattern)
    if literal_match is None or not literal_match[1]:
        return Like(text, pattern, _as_glob(pattern))
    literal = re.sub(r"\\(.)", r"\1", literal_match[2], flags=re.DOTALL)
    return (Contains if literal_match[3] else EndsWith)(text, pattern, literal)


def _as_glob(pattern: str) -> str:
    return "".join(
        GLOB_WILDCARDS.get(token) or re.sub(r"([*?[])", r"[\1]", token[-1])
        for token in PATTERN_TOKENS.findall(pattern)
    )
