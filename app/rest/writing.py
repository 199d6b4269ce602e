"""Creating, changing and deleting the rows of a collection from the bodies of requests."""

from collections.abc import Callable, Sequence

from app.access.identity import current_identity
from app.errors import MalformedBody, ValidationError
from app.fields.files import without_signature
from app.ids import Id

from .collection import MAX_VALUES, Collection
from .endpoint import Endpoint
from .rows.json_values import OTHERS_ATTRIBUTE, merge_others
from .rows.references import (
    check_changed_references,
    check_common_owner,
    check_common_references,
    check_owner,
    check_references,
    gives_away,
    may_name_others,
    owner_to_fix,
)
from .rows.scopes import WriteScope
from .rows.values import Condition, Conditions, NewRow, Row, Values
from .rows.writer import Check

# Changes the rows that meet the conditions, if a check permits it and they meet further conditions
# afterwards; returns the changed rows.
CheckedStore = Callable[[Conditions, Values, Check | None, Sequence[Condition]], Sequence[Row]]


def hashed_property(endpoint: Endpoint, subject: Collection | None) -> str | None:
    """Return the property without which a body of an endpoint causes no password hash.

    Empty if any body causes one, and None if none does. `subject` is the collection whose rows the
    body creates or changes.
    """
    if endpoint.hashes:
        return ""
    return subject.rows.hashed if subject and isinstance(endpoint.body, str) else None


def create_rows(
    collection: Collection,
    body: Values | Sequence[object],
    user_id: Id | None,
    fixed: Values | None = None,
    required: Sequence[Condition] = (),
) -> Sequence[Row]:
    """Create one row, or all rows of a list, in one transaction; `user_id` is the caller's.

    `fixed` are values by attribute that the client does not choose, and `required` are conditions
    that the rows must meet. Raises ValidationError, which names the item of a list, and the access
    error.
    """
    return collection.insert(prepare_rows(collection, body, user_id, fixed), required)


def prepare_rows(
    collection: Collection,
    body: Values | Sequence[object],
    user_id: Id | None,
    fixed: Values | None = None,
    each: Sequence[Values] = (),
) -> Sequence[NewRow]:
    """Return the values for `insert`, from the arguments of `create_rows`; not in a transaction.

    `each` has further fixed values for each item of a list.
    """
    many = isinstance(body, list)
    bodies = body if isinstance(body, list) else [body]
    if (number := len(bodies)) > collection.most_new_rows:
        raise _too_many(collection.most_new_rows)
    owners = collection.resource.owners
    if owners is not None and owners != current_identity().principal_type:
        # Users of another model own no rows.
        user_id = None
    own = {collection.owner_key: user_id} if collection.owner_key else {}
    fixed = fixed or {}
    items = [{**fixed, **more} for more in each] if each else [fixed] * number
    given = [
        _with_fixed(collection, item, {**own, **of_item})
        for item, of_item in zip(bodies, items, strict=True)
    ]
    loaded = collection.load(collection.create_schema, given if many else given[0], many=many)
    new: Sequence[Values] = loaded if many else [loaded]
    if collection.written_owner:
        own = owner_to_fix(collection.name, own, items[0] if items else {}, new)
    shared = {**own, **fixed}
    items = [{**own, **of_item} for of_item in items] if each else [shared] * number
    check_references(collection.references, new, many, items)
    stored = [{**values, **of_item} for values, of_item in zip(new, items, strict=True)]
    return collection.rows.prepare_insert(stored)


def check_linked(collection: Collection, bodies: Sequence[object], links: Collection) -> None:
    """Raise MalformedBody for more rows than one request may create with a link each."""
    values = collection.new_values_cost + links.new_values_cost
    most = max(1, min(collection.most_new_rows, MAX_VALUES // values))
    if len(bodies) > most:
        raise _too_many(most)


def _with_fixed(collection: Collection, body: object, fixed: Values) -> object:
    """Return the body of a new row with the fixed values that clients may write.

    Correct values that clients cannot write, and an empty id, are removed.
    """
    if not isinstance(body, dict) or (
        not collection.references
        and collection.written_on_create.keys().isdisjoint(fixed)
        and collection.read_only.isdisjoint(body)
    ):
        return body
    by_name = {
        name: fixed[column.key]
        for name, column in collection.properties.items()
        if column.key in fixed
    }
    rest = _without_echoes(body, {collection.id_name: None, **by_name})
    written = by_name.keys() & collection.written_on_create.values()
    return {name: by_name[name] for name in written} | rest


def _without_echoes(body: Values, known: Values) -> Values:
    """Return a body without the known values, and without null in their place."""
    return {
        name: value
        for name, value in body.items()
        if name not in known or value not in (None, known[name])
    }


def _too_many(most: int) -> MalformedBody:
    return MalformedBody(f"The array must not have more than {most} items.")


def update_all(collection: Collection, scope: WriteScope, values: Values) -> int:
    """Change every row within a scope; return their number.

    Raises ValidationError, and the access error if a row would leave the scope.
    """
    if others := values.get(OTHERS_ATTRIBUTE):
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
    if collection.files:
        body = _without_files(collection, body, find_row)
    values = collection.load(collection.schema, body, partial=partial or [*collection.files])

    def find_value(name: str) -> object:
        return collection.rows.value(find_row(), name)

    if collection.written_owner:
        scope = _owner_scope(collection, scope, body, values, find_value)
    check_changed_references(collection.references, values, find_value)
    if not values:
        return find_row()
    if partial and values.get(OTHERS_ATTRIBUTE):
        with collection.rows.transaction():
            collection.rows.lock(row_id)
            merge_others(values, find_row)
            return _store(collection, collection.writer.update, row_id, scope, values, check)
    store = collection.writer.update if partial else collection.writer.replace
    return _store(collection, store, row_id, scope, values, check)


def _without_files(collection: Collection, body: Values, find_row: Callable[[], Row]) -> Values:
    """Return a body without the files of the row as a client has read them."""
    given = [name for name in collection.files.keys() & body if isinstance(body[name], dict)]
    if not given:
        return body
    shown = collection.serializer.dump(find_row())
    same = {
        name
        for name in given
        if without_signature(body[name]) == without_signature(shown.get(name))
    }
    return {name: value for name, value in body.items() if name not in same}


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
