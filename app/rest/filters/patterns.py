"""Patterns of `like`: `%` matches any text, `_` any character; a backslash escapes both.

SQLite compares a pattern at every character of a text, so the cost is the product of the two
lengths. The most common pattern, literal text with `%` before or after it, is searched with `instr`
and `substr` instead, whose cost hardly depends on the pattern.
"""

import re
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

# The operators with patterns, in the order of error messages.
LIKE = ("like", "nlike", "ilike", "nilike")
REGEXP = ("regexp", "iregexp")
PATTERN_OPERATORS = (*LIKE, *REGEXP)
# The operators that select rows without a match.
NEGATED = ("nlike", "nilike")
ESCAPE = "\\"
TOKENS = re.compile(r"\\.|[^\\]", re.DOTALL)
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
            for token in TOKENS.findall(self.text)
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
