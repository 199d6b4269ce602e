"""Patterns of `like`: `%` matches any text, `_` any character, and a backslash escapes either.

SQLite compares a pattern at every character of a text, so that its cost is the product of the two
lengths. Literal text with `%` before or after it, the most common pattern, is searched with `instr`
and `substr` instead, whose cost hardly depends on the pattern.
"""

import re
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

# The operators that compare with patterns, in the order in which errors list them.
LIKE = ("like", "nlike", "ilike", "nilike")
REGEXP = ("regexp", "iregexp")
PATTERN_OPERATORS = (*LIKE, *REGEXP)
# Those that select what does not match.
NEGATED = ("nlike", "nilike")
ESCAPE = "\\"
TOKENS = re.compile(r"\\.|[^\\]", re.DOTALL)
# Literal text with an optional % before and after it.
PLAIN = re.compile(r"(%?)((?:\\.|[^\\%_])+)(%?)", re.DOTALL)
GLOB_WILDCARDS = {"%": "*", "_": "?"}
# What is compared without regard to the case is A to Z, as SQLite's `lower` changes them.
FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)
# ASCII characters that cost as much as one that GLOB takes in brackets, as one beyond ASCII, and as
# a class of a regular expression beside its members.
BRACKETED_COST = 6
WIDE_COST = 3
CLASS_COST = 3


@dataclass(frozen=True)
class LikePattern:
    """A pattern of `like`, without an unpaired backslash at its end."""

    text: str

    @classmethod
    def parse(cls, text: str, ignores_case: bool) -> "LikePattern":
        """Return the pattern, which is for texts in lower case if it ignores the case.

        A backslash at the end of the text stands for itself.
        """
        trailing = len(text) - len(text.rstrip(ESCAPE))
        complete = text + ESCAPE if trailing % 2 else text
        return cls(complete.translate(FOLD) if ignores_case else complete)

    def searched(self) -> int:
        """Return how many ASCII characters are compared at every character of a text, by cost."""
        return 0 if PLAIN.fullmatch(self.text) else sum(map(cost, self.text.partition("%")[2]))

    def as_glob(self) -> str:
        """Return the pattern of SQLite's GLOB."""
        return "".join(
            GLOB_WILDCARDS.get(token) or re.sub(r"([*?[])", r"[\1]", token[-1])
            for token in TOKENS.findall(self.text)
        )

    def contained(self) -> str | None:
        """Return the text that others contain, if the pattern is that between two %."""
        return self._literal("%", "%")

    def end(self) -> str | None:
        """Return the text that others end with, if the pattern is % and that text."""
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
