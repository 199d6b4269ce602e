"""References to other rows in the bodies of requests: they must be to rows that exist.

To rows, that is, that the caller may read: otherwise the answer would tell which ids exist, and
anyone could attach rows to those of others.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from app.errors import ValidationError
from app.ids import Id

from .repository import Values

# For a row that does not exist and one that the caller cannot read alike.
UNKNOWN_REFERENCE = "is not the id of a row that you may read"


class Reference(NamedTuple):
    """A property that holds the id of another row."""

    name: str
    attribute: str
    # Returns those of the ids that are of rows which the caller may read.
    find_readable: Callable[[Collection[Id]], set[Id]]


def check_references(
    references: Sequence[Reference],
    items: Sequence[Values],
    many: bool,
    fixed: Values | None = None,
) -> None:
    """Raise ValidationError for ids of rows that the caller cannot read, or that are none.

    A reference with a fixed value must have that.
    """
    problems: dict[str, list[str]] = {}
    for reference in references:
        name, attribute = reference.name, reference.attribute
        if fixed and attribute in fixed:
            wrong = _others(items, attribute, fixed[attribute])
        else:
            wrong = _unreadable(reference, items)
        problems |= {f"{place}.{name}" if many else name: [UNKNOWN_REFERENCE] for place in wrong}
    if problems:
        raise ValidationError(problems)


def check_changed_references(
    references: Sequence[Reference], values: Values, find_value: Callable[[str], Any]
) -> None:
    """Check the references that a change gives to a row; those that it has are accepted.

    `find_value` returns what the row has in an attribute.
    """
    for reference in references:
        key = reference.attribute
        if _unreadable(reference, [values]) and find_value(key) != values[key]:
            raise ValidationError({reference.name: [UNKNOWN_REFERENCE]})


def _unreadable(reference: Reference, items: Sequence[Values]) -> list[int]:
    """Return the places of the items whose reference the caller cannot read."""
    ids = [item.get(reference.attribute) for item in items]
    given = {row_id for row_id in ids if row_id is not None}
    if not given:
        return []
    unreadable = given - reference.find_readable(given)
    return [place for place, row_id in enumerate(ids) if row_id in unreadable]


def _others(items: Sequence[Values], name: str, value: Any) -> list[int]:
    """Return the places of the items that have another value."""
    return [place for place, item in enumerate(items) if item[name] != value]
