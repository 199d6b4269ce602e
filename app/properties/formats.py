"""Regular expressions for values, limited to those that match in little time.

Python's `re` tries all ways to divide a text among an expression's repetitions, whose number is at
most the product of their ranges.
"""

import re
from collections.abc import Iterator

from marshmallow import ValidationError

#: Maximum ways to divide a text among the repetitions of a `format`, which take 10 ms.
MAX_WAYS = 200_000
# Ways that take as long as loading and storing a value.
WAYS_PER_VALUE = 400
TOKENS = re.compile(
    r"""
    (?P<escape>\\[dDwWsSbB.\\/^$|?*+()[\]{}'"@:,;!%&#=<>~` -])
  | (?P<set>\[\^?\]?(?:\\.|[^]\\])*\])
  | (?P<open>\((?:\?:)?(?!\?))
  | (?P<close>\))
  | (?P<repeat>[*+?]|\{\d{1,4}(?:,\d{0,4})?\})\??
  | (?P<plain>[^\\[\](){}*+?])
    """,
    re.VERBOSE | re.DOTALL,
)


class Format:
    """A validator: the text must match the expression, as with JavaScript's `RegExp.test`."""

    def __init__(self, pattern: str, max_length: int) -> None:
        """Compile an expression for texts of this length; raise ValueError if not supported."""
        self.pattern = pattern.removeprefix("/").removesuffix("/")
        try:
            self._compiled = re.compile(self.pattern, re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is no regular expression: {error}") from None
        self.ways = count_ways(self.pattern, max_length)
        if self.ways > MAX_WAYS:
            raise ValueError(
                f"takes too long for texts of {max_length} characters: begin it with ^, declare a"
                " smaller length, or repeat less"
            )

    def __call__(self, value: str) -> str:
        """Raise ValidationError for a text that does not match."""
        if not self._compiled.search(value):
            raise ValidationError("is invalid")
        return value

    @property
    def cost(self) -> int:
        """The cost of matching, in units of loading and storing a value."""
        return self.ways // WAYS_PER_VALUE


def count_ways(pattern: str, length: int) -> int:
    """Return a bound on the steps of a search in a text; raise ValueError.

    It is the product of the ranges of all repetitions. A nested repetition multiplies itself, so a
    group that contains a repetition must not be repeated.
    """
    ways = 1
    # Whether each open group, and the one just closed, contains a repetition.
    groups, closed = [False], False
    for token in _tokens(pattern):
        kind, was_closed, closed = token.lastgroup, closed, False
        if kind == "repeat" and was_closed:
            raise ValueError("repeats a group that has a repetition in it")
        if kind == "repeat":
            ways *= _range(token["repeat"], length)
            groups[-1] = True
        elif kind == "open":
            groups.append(False)
        elif kind == "close":
            closed = groups.pop()
            groups[-1] |= closed
    return ways if _is_anchored(pattern) else ways * length


def _is_anchored(pattern: str) -> bool:
    """Return True if an expression only matches at the start of a text."""
    depth = 0
    for token in _tokens(pattern):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if token[0] == "|" and depth == 0:
            return False
    return pattern.startswith("^")


def _tokens(pattern: str) -> Iterator[re.Match[str]]:
    place = 0
    while place < len(pattern):
        token = TOKENS.match(pattern, place)
        if token is None:
            raise ValueError(f"has {pattern[place : place + 2]!r}, which is not supported")
        yield token
        place = token.end()


def _range(repeat: str, length: int) -> int:
    """Return the number of different counts of a repetition."""
    if repeat == "?":
        return 2
    if repeat in "*+":
        return length
    least, comma, most = repeat.strip("{}").partition(",")
    if not comma:
        return 1
    return max(1, (int(most) if most else length) - int(least) + 1)
