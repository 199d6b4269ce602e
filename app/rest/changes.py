"""Changing and deleting the rows of a collection from the bodies of requests."""

from collections.abc import Callable, Sequence

from app.errors import ValidationError
from app.ids import Id

from .collection import Collection
from .rows.references import (
    check_changed_references,
    check_common_owner,
    check_common_references,
    check_owner,
    gives_away,
    may_name_others,
)
from .rows.scopes import WriteScope
from .rows.undeclared import ATTRIBUTE, merge_others
from .rows.values import Condition, Conditions, Row, Values
from .rows.writer import Check

# Changes the rows that meet the conditions, if a check permits it and they meet further conditions
# afterwards; returns the changed rows.
CheckedStore = Callable[[Conditions, Values, Check | None, Sequence[Condition]], Sequence[Row]]


def update_all(collection: Collection, scope: WriteScope, values: Values) -> int:
    """Change every row within a scope; return their number.

    Raises ValidationError, and the access error if a row would leave the scope.
    """
    if others := values.get(ATTRIBUTE):
        raise ValidationError({name: ["can be changed by its id only"] for name in others})
    collection.embedded_objects.check_common(values)
    if collection.written_owner and not (
        collection.resource.owner_may_change and scope.grant.only_own
    ):
        check_common_owner(collection.name, *collection.written_owner, values)
    check_common_references(collection.references, values)
    return collection.writer.update_all(scope.conditions, values, scope.required)


def update_one(
    collection: Collection,
    row_id: Id,
    scope: WriteScope,
    body: Values,
    partial: bool,
    check: Check | None = None,
) -> Row:
    """Update (`partial`) or replace one row within a scope from a body; return it.

    `check` raises an error for a row that must not be changed. Raises ValidationError, the access
    error if the row would leave the scope, or the errors of `or_denied`.
    """

    def find_row() -> Row:
        return collection.or_denied(row_id, collection.rows.get(row_id, scope.conditions))

    body, check = collection.embedded_objects.complete(body, find_row, check)
    values = collection.load(collection.schema, body, partial=partial)

    def find_value(name: str) -> object:
        return collection.rows.value(find_row(), name)

    if collection.written_owner:
        scope = _owner_scope(collection, scope, body, values, find_value)
    check_changed_references(collection.references, values, find_value)
    if not values:
        return find_row()
    if partial and values.get(ATTRIBUTE):
        with collection.rows.transaction():
            collection.rows.lock(row_id)
            merge_others(values, find_row)
            return _store(collection, collection.writer.update, row_id, scope, values, check)
    store = collection.writer.update if partial else collection.writer.replace
    return _store(collection, store, row_id, scope, values, check)


def _owner_scope(
    collection: Collection,
    scope: WriteScope,
    body: Values,
    values: Values,
    find_value: Callable[[str], object],
) -> WriteScope:
    """Return the scope of a change of a row whose body may name another owner.

    Raises ValidationError for an owner whom the caller may not name.
    """
    name, key = collection.written_owner or ("", "")
    if name not in body:
        # Replacing a row without naming an owner keeps the owner.
        values.pop(key, None)
    if key not in values or may_name_others(collection.name):
        return scope
    if collection.resource.owner_may_change and gives_away(key, values, find_value):
        return scope.giving_away()
    check_owner(name, key, values, find_value)
    if not scope.grant.by_row:
        return scope
    # The row must have this owner afterwards, even after concurrent changes.
    return scope.limited(collection.rows.owned_by(values[key]))


def _store(
    collection: Collection,
    store: CheckedStore,
    row_id: Id,
    scope: WriteScope,
    values: Values,
    check: Check | None,
) -> Row:
    chosen = [collection.rows.by_id(row_id), *scope.conditions]
    rows = store(chosen, values, check, scope.required)
    return collection.or_denied(row_id, rows[0] if rows else None)


def delete_one(
    collection: Collection, row_id: Id, scope: Conditions, check: Check | None = None
) -> None:
    """Delete one row within a scope; raise the errors of `check` and `or_denied`."""
    count = collection.delete([collection.rows.by_id(row_id), *scope], check)
    collection.or_denied(row_id, count or None)
