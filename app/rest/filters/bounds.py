"""Limits on the size of a filter, checked before it is translated into SQL."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import InvalidFilter, quote

from .patterns import BRACKETED_COST, CLASS_COST, LIKE, WIDE_COST, check_pattern, count_searched
from .regexps import REGEXP, parse_regexp

#: Items of all lists of a filter together.
MAX_ITEMS = 1000
#: Properties and operators of a filter.
# SQLite takes expressions of up to 1000 levels, and to compare 250 texts with those of a thousand
# rows costs it 60 ms.
MAX_CONDITIONS = 250
#: Patterns of a filter; each alternative of a `regexp` is one.
MAX_PATTERNS = 5
#: Characters of a filter's patterns behind their first `%`, except where a pattern is plain text
#: with `%` before or after it; `*`, `?` and `[` count 6 times, characters beyond ASCII 3 times, and
#: a class of a `regexp` 3 more than its characters, each once and neighbours as a range.
# They are compared at every character of a text: a thousand texts of 10,000 characters cost SQLite
# up to 30 ms for each.
MAX_SEARCHED = 20


def check_size(raw: Mapping[str, Any]) -> None:
    """Raise InvalidFilter for a filter with too many conditions, those of includes counted."""
    conditions = [raw.get("where"), raw.get("include")]
    names, items = _count(conditions)
    if items - len(conditions) > MAX_ITEMS:
        raise InvalidFilter(f"The filter has more than {MAX_ITEMS} list items.")
    if names > MAX_CONDITIONS:
        raise InvalidFilter(f"The filter has more than {MAX_CONDITIONS} properties and operators.")
    _check_patterns(conditions)


def _count(value: Any) -> tuple[int, int]:
    """Return the number of names in objects (an empty object counts as one) and of list items."""
    if isinstance(value, list):
        names, items, inner = 0, len(value), value
    elif isinstance(value, dict) and "0" in value:
        names, items, inner = 0, len(value), list(value.values())
    elif isinstance(value, dict):
        names, items, inner = max(len(value), 1), 0, list(value.values())
    else:
        return 0, 0
    counts = [(names, items), *map(_count, inner)]
    return sum(each[0] for each in counts), sum(each[1] for each in counts)


def _check_patterns(conditions: list[Any]) -> None:
    number, searched = 0, 0
    for path, pattern in _patterns(conditions, "where"):
        check_pattern(path, pattern)
        costs = _search_costs(path, pattern)
        number += len(costs)
        searched += sum(costs)
        if number > MAX_PATTERNS:
            raise InvalidFilter(
                f"{path}: a filter has at most {MAX_PATTERNS} patterns; each alternative of a"
                " regexp is one."
            )
        if searched > MAX_SEARCHED:
            raise InvalidFilter(
                f"{path}: patterns that are more than text with % before or after it may have "
                f"{MAX_SEARCHED} characters after their first %, all together, where *, ? and [ "
                f"count {BRACKETED_COST} times, characters beyond ASCII {WIDE_COST} times, and a "
                f"class like [a-z] {CLASS_COST} more than its characters."
            )


def _search_costs(path: str, pattern: str) -> list[int]:
    """Return the characters searched at every one of a text, for each alternative of a pattern."""
    if not path.endswith(REGEXP):
        return [count_searched(pattern)]
    return [each.searched() for each in parse_regexp(path, pattern)[0]]


def _patterns(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every pattern with its path, such as `title.like`."""
    if isinstance(value, list):
        for each in value:
            yield from _patterns(each, name)
    elif isinstance(value, dict):
        for operator, inner in value.items():
            if operator in (*LIKE, *REGEXP) and isinstance(inner, str):
                yield quote(f"{name}.{operator}"), inner
            else:
                yield from _patterns(inner, operator)
