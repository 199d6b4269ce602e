"""Patterns of `like`: `%` for any text, `_` for one character, backslash before one that is meant.

SQLite compares a pattern anew at every character of a text, so that its cost is the product of
the two lengths. Text with `%` before or after it, which is what people search by, is looked for
by `instr` and `substr` instead, at a cost that hardly depends on the pattern.
"""

import re

from sqlalchemy import ColumnElement, func

from app.errors import InvalidFilter

LIKE = ("like", "nlike", "ilike", "nilike")
ESCAPE = "\\"
# Characters of one pattern: a thousand texts of 10,000 characters are searched in 80 ms.
MAX_PATTERN = 100
PIECES = re.compile(r"\\.|[^\\]", re.DOTALL)
# Text without wildcards that may have a % before it, after it, or both.
PLAIN = re.compile(r"(%?)((?:\\.|[^\\%_])+)(%?)", re.DOTALL)
WILD = {"%": "*", "_": "?"}


def check_pattern(place: str, pattern: str) -> None:
    """Raise InvalidFilter for a pattern that is too long."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidFilter(f"{place} must not have more than {MAX_PATTERN} characters.")


def searched(pattern: str) -> int:
    """Return how many characters of a pattern are compared at every character of a text."""
    return 0 if PLAIN.fullmatch(complete(pattern)) else len(pattern.partition("%")[2])


def complete(pattern: str) -> str:
    """Return the pattern with a backslash at its end standing for itself."""
    trailing = len(pattern) - len(pattern.rstrip(ESCAPE))
    return pattern + ESCAPE if trailing % 2 else pattern


def matches_on_sqlite(text: ColumnElement[str], pattern: str) -> ColumnElement[bool]:
    """Return the condition that a text matches; SQLite's own LIKE would ignore case."""
    plain = PLAIN.fullmatch(pattern)
    if plain is None or not plain[1]:
        return text.bool_op("GLOB")(_as_glob(pattern))
    wanted = re.sub(r"\\(.)", r"\1", plain[2], flags=re.DOTALL)
    if plain[3]:
        return func.instr(text, wanted) > 0
    return func.substr(text, -len(wanted)) == wanted


def _as_glob(pattern: str) -> str:
    return "".join(
        WILD.get(piece) or re.sub(r"([*?[])", r"[\1]", piece[-1])
        for piece in PIECES.findall(pattern)
    )
