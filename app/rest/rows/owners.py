"""Owners in the bodies of requests, for models whose clients may write them.

A caller owns what it creates. To name somebody else takes the permission to change the rows of
others.
"""

from collections.abc import Callable, Sequence
from typing import Any

from app.access.identity import current_identity
from app.access.policy import find_grant
from app.errors import ValidationError

from .references import UNKNOWN_REFERENCE
from .repository import Values


def may_name_others(model: str) -> bool:
    """Tell whether the caller may change rows of others."""
    return find_grant(model, "patchAttributes").decision.others


def gives_away(key: str, values: Values, find_value: Callable[[str], Any]) -> bool:
    """Return True if a change gives a row of the caller to somebody else.

    `key` is the attribute of the owner, and `find_value` returns what the row has in it.
    """
    user_id = current_identity().user_id
    return key in values and values[key] != user_id and find_value(key) == user_id


def check_owner(
    model: str, name: str, key: str, values: Values, find_value: Callable[[str], Any] | None = None
) -> None:
    """Raise ValidationError for a change that gives a row to somebody else, without permission.

    `name` is the property of the owner, `key` the attribute; `find_value` returns what the row has
    in it, which must be that owner already. Without it many rows are changed: those of the caller,
    who may be named, unless dynamic roles permit others, which the caller would take over.
    """
    if key not in values or may_name_others(model):
        return
    if find_value is not None:
        is_same = find_value(key) == values[key]
    else:
        is_own = values[key] == current_identity().user_id
        is_same = is_own and not find_grant(model, "updateAll").by_row
    if not is_same:
        raise ValidationError({name: [UNKNOWN_REFERENCE]})


def owner_to_fix(model: str, own: Values, fixed: Values, items: Sequence[Values]) -> Values:
    """Return the owner that new rows must have, if the caller may not name another.

    `own` is the caller as the owner; `fixed` are the values that follow from the path.
    """
    named = own.keys() - fixed.keys()
    others = any(item.get(key, own[key]) != own[key] for key in named for item in items)
    return {} if others and may_name_others(model) else own
