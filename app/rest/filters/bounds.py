"""Limits of filters: on the size before parsing, and on the cost afterwards."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.errors import InvalidFilter, quote

from .kinds import Shape
from .patterns import BRACKETED_COST, CLASS_COST, PATTERN_OPERATORS, WIDE_COST
from .tree import (
    Comparison,
    Filter,
    Near,
    Order,
    Pattern,
    comparisons,
    related_conditions,
)

#: Maximum items of all lists of a filter together.
MAX_ITEMS = 1000
#: Maximum properties and operators of a filter.
# SQLite allows 1000 levels of an expression, and takes 60 ms to compare 250 texts with those of a
# thousand rows.
MAX_CONDITIONS = 250
#: Maximum characters of a pattern: a thousand texts of 10,000 characters are searched in 80 ms.
MAX_PATTERN = 100
#: Maximum patterns of a filter; each alternative of a `regexp` counts.
MAX_PATTERNS = 5
#: Maximum characters of a filter's patterns after their first `%`, except if a pattern is plain
#: text with `%` before or after it. `*`, `?` and `[` count 6 times, characters beyond ASCII 3
#: times. A class of a `regexp` counts 3 more than its characters, each of which counts once, and
#: adjacent ones as a range.
# They are compared at every character of a text: a thousand texts of 10,000 characters take SQLite
# up to 30 ms for each.
MAX_SEARCHED = 20
#: Maximum values that a filter and its includes compare with objects, arrays and positions.
MAX_IN_JSON = 20
#: Maximum conditions of a filter and its includes on arrays: each is checked against the items of
#: every row. A relation by an array of ids counts twice.
MAX_ARRAYS = 2
#: Maximum paths such as `address.city` that a filter and its includes order by.
MAX_PATH_ORDER = 3
#: Maximum relations in the conditions and orders of a filter and its includes, and in the groups of
#: an aggregate; each counts as often as it occurs, and `site.organization` is two. A computed
#: property counts as a relation, also in the functions of an aggregate.
MAX_RELATIONS = 4


def check_size(raw: Mapping[str, object]) -> None:
    """Raise InvalidFilter for a filter with too many or too long parts, including its includes."""
    conditions = [raw.get("where"), raw.get("include")]
    counted = Counter(names=0, items=-len(conditions))
    _count(conditions, counted)
    if counted["items"] > MAX_ITEMS:
        raise InvalidFilter(f"The filter has more than {MAX_ITEMS} list items.")
    if counted["names"] > MAX_CONDITIONS:
        raise InvalidFilter(f"The filter has more than {MAX_CONDITIONS} properties and operators.")
    for number, (path, pattern) in enumerate(_patterns(conditions, "where"), 1):
        if len(pattern) > MAX_PATTERN:
            raise InvalidFilter(f"{path} must not have more than {MAX_PATTERN} characters.")
        _check_number(path, number)


def check_cost(filters: Iterable[Filter]) -> None:
    """Raise InvalidFilter if a filter and its includes cost too much."""
    filters = list(filters)
    found = [compared for filter_ in filters for compared in comparisons(filter_.where)]
    _check_patterns(found)
    order = [term for filter_ in filters for term in filter_.order]
    _check_json(found, order)
    relations = sum(len(filter_.relations) for filter_ in filters) + _computed(found, order)
    if relations:
        _check_relations(filters, relations)


def searches(filter_: Filter) -> bool:
    """Return True for a filter that compares more than a plain value of each row."""
    order, found = filter_.order, list(comparisons(filter_.where))
    if filter_.relations or any(term.place.is_path() or term.near for term in order):
        return True
    return bool(_computed(found, order)) or any(
        isinstance(compared.operand, Pattern) or _operands_in_json(compared) for compared in found
    )


def _computed(found: Iterable[Comparison], order: Iterable[Order]) -> int:
    """Return how many values are computed for each row."""
    compared = sum(comparison.kind.is_computed for comparison in found)
    return compared + sum(term.is_computed for term in order)


def _check_relations(filters: Iterable[Filter], number: int) -> None:
    if number > MAX_RELATIONS:
        raise InvalidFilter(
            f"The conditions, orders and groups of a filter have at most {MAX_RELATIONS} relations,"
            " all together; a computed property counts as one."
        )
    wheres = [filter_.where for filter_ in filters]
    arrays = sum(related.is_array for where in wheres for related in related_conditions(where))
    compared = (compared for where in wheres for compared in comparisons(where))
    # Each reads the ids of every row, and looks for them among those of other rows.
    _check_arrays(compared, 2 * arrays)


def _count(value: object, counted: Counter[str]) -> None:
    """Count the names in objects (an empty object as one) and the items of lists."""
    if isinstance(value, list):
        counted["items"] += len(value)
    elif isinstance(value, dict):
        counted["names"] += max(len(value), 1)
    else:
        return
    for inner in value.values() if isinstance(value, dict) else value:
        _count(inner, counted)


def _patterns(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield every pattern with its path, such as `title.like`."""
    if isinstance(value, list):
        for item in value:
            yield from _patterns(item, name)
    elif isinstance(value, dict):
        for operator, inner in value.items():
            if operator in PATTERN_OPERATORS and isinstance(inner, str):
                yield quote(f"{name}.{operator}"), inner
            else:
                yield from _patterns(inner, operator)


def _check_patterns(found: Iterable[Comparison]) -> None:
    number, searched = 0, 0
    for compared in found:
        if not isinstance(compared.operand, Pattern):
            continue
        path = quote(f"{compared.place}.{compared.operator}")
        number += len(compared.operand.alternatives)
        _check_number(path, number)
        searched += sum(pattern.searched() for pattern in compared.operand.alternatives)
        if searched > MAX_SEARCHED:
            raise InvalidFilter(
                f"{path}: patterns that are more than text with % before or after it may have "
                f"{MAX_SEARCHED} characters after their first %, all together, where *, ? and [ "
                f"count {BRACKETED_COST} times, characters beyond ASCII {WIDE_COST} times, and a "
                f"class like [a-z] {CLASS_COST} more than its characters."
            )


def _check_number(path: str, patterns: int) -> None:
    if patterns > MAX_PATTERNS:
        raise InvalidFilter(
            f"{path}: a filter has at most {MAX_PATTERNS} patterns; each alternative of a"
            " regexp is one."
        )


def _check_json(found: Sequence[Comparison], order: Iterable[Order]) -> None:
    """Check how often a filter reads the JSON of every row."""
    if sum(map(_operands_in_json, found)) > MAX_IN_JSON:
        raise InvalidFilter(
            f"A filter compares at most {MAX_IN_JSON} values with objects, arrays and positions."
        )
    _check_arrays(found)
    if sum(term.place.is_path() for term in order) > MAX_PATH_ORDER:
        raise InvalidFilter(f"order must not have more than {MAX_PATH_ORDER} paths.")


def _check_arrays(found: Iterable[Comparison], others: int = 0) -> None:
    if others + sum(compared.kind.shape is Shape.ARRAY for compared in found) > MAX_ARRAYS:
        raise InvalidFilter(
            f"A filter has at most {MAX_ARRAYS} conditions on arrays; inq compares several values,"
            " and a relation by an array of ids counts twice."
        )


def _operands_in_json(compared: Comparison) -> int:
    if not compared.place.steps and compared.kind.shape is Shape.SCALAR:
        return 0
    match compared.operand:
        case tuple() as values:
            return len(values)
        case Near(given=given):
            return len(given)
    return 1
