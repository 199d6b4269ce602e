"""Drop read-only values that a client echoes: LoopBack 3 clients save whole objects."""

from flask import current_app

from app.errors import IdFixed
from app.ids import Id
from app.rest.collection import Collection
from app.rest.rows.values import Conditions, Values
from app.settings import is_compatible

from .serialization import serialize


def without_echo(collection: Collection, row_id: Id, scope: Conditions, body: Values) -> Values:
    """Return the body of a change without unchanged values that clients cannot write.

    These are read-only properties and included relations, if they are as in the row. Raises the
    errors of `Collection.or_denied`, and IdFixed for another id with COMPATIBILITY, which removes
    all other read-only values from bodies.
    """
    if is_compatible(current_app.config) and collection.id_name in body:
        given = body[collection.id_name]
        if collection.id_form.parse(str(given)) != row_id:
            collection.or_denied(row_id, collection.rows.get(row_id, scope))
            raise IdFixed(collection.id_name)
        body = {**body, collection.id_name: row_id}
    unwritable = (collection.read_only | collection.relations.keys()) & body.keys()
    if not unwritable:
        return body
    row = collection.or_denied(row_id, collection.rows.get(row_id, scope))
    relations = [name for name in collection.shown_relations if name in unwritable]
    current = serialize(collection, [row], collection.parse({"include": relations}))[0]
    return {
        name: value
        for name, value in body.items()
        if name not in unwritable or not _is_same(value, current.get(name))
    }


def _is_same(sent: object, current: object) -> bool:
    """Return True if a value is the current one; of an object, only given properties count."""
    if isinstance(sent, list) and isinstance(current, list):
        return len(sent) == len(current) and all(map(_is_same, sent, current))
    if isinstance(sent, dict) and isinstance(current, dict):
        return all(
            name in current and _is_same(value, current[name]) for name, value in sent.items()
        )
    return bool(sent == current)
