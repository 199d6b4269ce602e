"""References to other rows in the bodies of requests: they must be to rows that exist.

To rows, that is, that the caller may read: otherwise the answer would tell which ids exist, and
anyone could attach rows to those of others.
"""

from collections.abc import Callable, Sequence
from typing import Any

from app.errors import ValidationError
from app.rest.relations import Relation

from .repository import Values

# The properties that hold the id of another row, with their relations.
References = Sequence[tuple[str, Relation]]
# For a row that does not exist and one that the caller cannot read alike.
UNKNOWN_REFERENCE = "is not the id of a row that you may read"


def check_references(
    references: References, items: Sequence[Values], many: bool, fixed: Values | None = None
) -> None:
    """Raise ValidationError for ids of rows that the caller cannot read, or that are none.

    A reference with a fixed value must have that.
    """
    problems: dict[str, list[str]] = {}
    for name, relation in references:
        if fixed and relation.foreign_key in fixed:
            wrong = _others(items, relation.foreign_key, fixed[relation.foreign_key])
        else:
            wrong = _unreadable(relation, items)
        problems |= {f"{place}.{name}" if many else name: [UNKNOWN_REFERENCE] for place in wrong}
    if problems:
        raise ValidationError(problems)


def check_changed_references(
    references: References, values: Values, find_value: Callable[[str], Any]
) -> None:
    """Check the references that a change gives to a row; those that it has are accepted.

    `find_value` returns what the row has in an attribute.
    """
    for name, relation in references:
        key = relation.foreign_key
        if _unreadable(relation, [values]) and find_value(key) != values[key]:
            raise ValidationError({name: [UNKNOWN_REFERENCE]})


def _unreadable(relation: Relation, items: Sequence[Values]) -> list[int]:
    """Return the places of the items whose reference the caller cannot read."""
    ids = [item.get(relation.foreign_key) for item in items]
    given = {each for each in ids if each is not None}
    if not given:
        return []
    target = relation.resource
    readable: set[Any] = target.rows.existing(given, target.readable)
    return [place for place, each in enumerate(ids) if each in given - readable]


def _others(items: Sequence[Values], name: str, value: Any) -> list[int]:
    """Return the places of the items that have another value."""
    return [place for place, each in enumerate(items) if each[name] != value]
