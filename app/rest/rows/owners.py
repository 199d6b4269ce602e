"""Owners in request bodies, for models whose clients may write them.

Callers own what they create. Naming another owner requires the permission to change other users'
rows.
"""

from collections.abc import Callable, Sequence

from app.access.identity import current_identity
from app.access.policy import find_grant
from app.errors import ValidationError

from .references import UNKNOWN_REFERENCE
from .values import Values


def may_name_others(model: str) -> bool:
    """Return True if the caller may change other users' rows."""
    return find_grant(model, "patchAttributes").decision.others


def gives_away(key: str, values: Values, find_value: Callable[[str], object]) -> bool:
    """Return True if a change gives a row of the caller to another user.

    `key` is the attribute of the owner, and `find_value` returns the row's value of it.
    """
    user_id = current_identity().user_id
    return key in values and values[key] != user_id and find_value(key) == user_id


def check_owner(name: str, key: str, values: Values, find_value: Callable[[str], object]) -> None:
    """Raise ValidationError for a change of a row that names a new owner.

    Applies to callers who may not name others. `name` is the property of the owner, `key` the
    attribute, and `find_value` returns the row's value of it.
    """
    if find_value(key) != values[key]:
        raise ValidationError({name: [UNKNOWN_REFERENCE]})


def check_common_owner(model: str, name: str, key: str, values: Values) -> None:
    """Raise ValidationError for a change of many rows that names an owner without permission.

    The rows are the caller's, who may be named, unless dynamic roles permit others' rows, which the
    caller would take over.
    """
    if key not in values or may_name_others(model):
        return
    is_own = values[key] == current_identity().user_id
    if not is_own or find_grant(model, "updateAll").by_row:
        raise ValidationError({name: [UNKNOWN_REFERENCE]})


def owner_to_fix(model: str, own: Values, fixed: Values, items: Sequence[Values]) -> Values:
    """Return the owner that new rows must have, if the caller may not name another one.

    `own` is the caller as the owner; `fixed` are the values determined by the path.
    """
    named = own.keys() - fixed.keys()
    others = any(item.get(key, own[key]) != own[key] for key in named for item in items)
    return {} if others and may_name_others(model) else own
