"""Kinds of properties, by what filters and aggregates do with them.

`typescript/filters.ts` has the operators and functions of each kind.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .document import Part
from .schemas import Types

COMPARED = "eq neq inq nin exists"
ORDERED = "eq neq gt gte lt lte between inq nin exists"
MATCHED = f"{ORDERED} like nlike ilike nilike regexp iregexp options"
PRESENT = "eq neq exists"
NEAR = f"{PRESENT} near maxDistance minDistance unit"
COUNTS = "count countDistinct"
EXTREMES = f"{COUNTS} min max"
DATES = "year month week day"
# The operators, functions and units of time of each kind.
KINDS = {
    "text": (MATCHED, EXTREMES, ""),
    "number": (ORDERED, f"{EXTREMES} sum avg", ""),
    "id": (ORDERED, EXTREMES, ""),
    "value": (ORDERED, COUNTS, ""),
    "time": (ORDERED, EXTREMES, f"{DATES} hour"),
    "date": (ORDERED, EXTREMES, DATES),
    "list": (COMPARED, "count", ""),
    "object": (PRESENT, "count", ""),
    "position": (NEAR, "count", ""),
}
BY_USES = {tuple(frozenset(part.split()) for part in uses): kind for kind, uses in KINDS.items()}
# Kinds of properties that aggregates may not use, by operators; the first that has them.
BY_OPERATORS = {uses[0]: kind for uses, kind in reversed(BY_USES.items())}
# The keys of a condition that are no properties.
LOGICAL = ("and", "or")


def kinds_of(where: Part, aggregate: Part, types: Types) -> dict[str, str]:
    """Return the properties that filters may name, with their kinds.

    The kind of a property with other operators is the type of its conditions.
    """
    functions, units = _functions(aggregate), dict(_units(aggregate))
    found = {}
    for name, condition in where.get("properties", {}).items():
        forms = condition.get("anyOf", [condition])
        if name in LOGICAL or any("$ref" in form for form in forms):
            continue
        operators = frozenset(forms[-1].get("properties", {}))
        uses = (operators, functions.get(name, frozenset()), units.get(name, frozenset()))
        kind = BY_USES.get(uses) or (BY_OPERATORS.get(operators) if not uses[1] else None)
        found[name] = f'"{kind}"' if kind else types.of(condition)
    return found


def is_aggregated(aggregate: Part) -> bool:
    """Return True if aggregates may use properties, and not only count rows."""
    return len(_functions(aggregate)) > 1


def _functions(aggregate: Part) -> dict[str, frozenset[str]]:
    """Return the names of functions by property."""
    words = _part(aggregate, "aggregate").get("additionalProperties", {}).get("properties", {})
    names = {name for known in words.values() for name in known["enum"]}
    return {
        name: frozenset(word for word, known in words.items() if name in known["enum"])
        for name in names
    }


def _units(aggregate: Part) -> Iterator[tuple[str, frozenset[str]]]:
    for group in _part(aggregate, "groupBy").get("anyOf", []):
        for form in group.get("anyOf", [group]):
            for name, units in form.get("properties", {}).items():
                yield name, frozenset(units["enum"])


def _part(aggregate: Part, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = aggregate.get("properties", {}).get(name, {})
    return found
