"""Creating rows of a collection from request bodies."""

from collections.abc import Sequence

from app.errors import MalformedBody
from app.ids import Id

from .collection import MAX_VALUES, Collection
from .rows.references import check_references, owner_to_fix
from .rows.values import Condition, NewRow, Row, Values


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
