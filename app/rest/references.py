"""References to other rows in the bodies of requests: they must be to rows that exist.

To rows, that is, that the caller may read: otherwise the answer would tell which ids exist, and
anyone could attach rows to those of others.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flask import current_app
from sqlalchemy import false

from app.access.policy import find_grant
from app.errors import ValidationError

from .relations import Relation
from .repository import Conditions, Values

if TYPE_CHECKING:
    from .resource import Resource

# For a row that does not exist and one that the caller cannot read alike.
UNKNOWN_REFERENCE = "is not the id of a row that you may read"


def with_fixed(resource: "Resource", body: Any, fixed: Values) -> Any:
    """Return the body of a new row with the fixed values that clients may write.

    Without those that they cannot write, if they are right, and without an empty id.
    """
    if not isinstance(body, dict) or (
        not resource.references and resource.read_only.isdisjoint(body)
    ):
        return body
    by_name = {
        name: fixed[column.key]
        for name, column in resource.properties.items()
        if column.key in fixed
    }
    anyway = {"id": None, **by_name}
    rest = {
        name: value for name, value in body.items() if name not in anyway or value != anyway[name]
    }
    return {name: by_name[name] for name in by_name.keys() - resource.read_only} | rest


def check_references(
    resource: "Resource",
    items: Sequence[Values],
    many: bool,
    fixed: Values | None = None,
) -> None:
    """Raise ValidationError for ids of rows that the caller cannot read, or that are none.

    A reference with a fixed value must have that.
    """
    problems: dict[str, list[str]] = {}
    for name, relation in resource.references:
        if fixed and relation.foreign_key in fixed:
            wrong = _others(items, relation.foreign_key, fixed[relation.foreign_key])
        else:
            wrong = _unreadable(relation, items)
        problems |= {f"{place}.{name}" if many else name: [UNKNOWN_REFERENCE] for place in wrong}
    if problems:
        raise ValidationError(problems)


def _unreadable(relation: Relation, items: Sequence[Values]) -> list[int]:
    """Return the places of the items whose reference the caller cannot read."""
    ids = [item.get(relation.foreign_key) for item in items]
    given = {each for each in ids if each is not None}
    if not given:
        return []
    target, grant = _target(relation), find_grant(relation.target, "findById")
    scope = grant.scope(target.rows.owner) if grant.decision else [false()]
    readable = target.rows.existing(given, scope)
    return [place for place, each in enumerate(ids) if each in given - readable]


def check_changed_references(
    resource: "Resource", row_id: int, scope: Conditions, values: Values
) -> None:
    """Check the references that a change gives to a row; those that it has are accepted."""
    for name, relation in resource.references:
        if _unreadable(relation, [values]):
            row = resource.or_denied(row_id, resource.rows.get(row_id, scope))
            if getattr(row, relation.foreign_key, None) != values[relation.foreign_key]:
                raise ValidationError({name: [UNKNOWN_REFERENCE]})


def _others(items: Sequence[Values], name: str, value: Any) -> list[int]:
    """Return the places of the items that have another value."""
    return [place for place, each in enumerate(items) if each[name] != value]


def _target(relation: Relation) -> "Resource":
    resource: Resource = current_app.extensions["resources"][relation.target]
    return resource
