"""The targets of a collection's references: other rows that the caller may read."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Protocol

from app.ids import Id, IdForm
from app.rest.relations import BELONGS_TO, Relation

from .references import AnyReference, Reference, TypedReference
from .repository import Repository
from .values import Conditions


class Target(Protocol):
    """A collection to whose rows others refer."""

    @property
    def rows(self) -> Repository:
        """Its rows."""

    @property
    def readable(self) -> Conditions:
        """The conditions for the rows that the caller may read."""

    @property
    def id_form(self) -> IdForm:
        """The form of the ids."""


# Returns a collection by name, in the context of its app.
FindTarget = Callable[[str], Target]


def references_of(
    relations: Iterable[Relation], written: Mapping[str, str], find: FindTarget, free_key: str
) -> list[AnyReference]:
    """Return the references, by belongsTo relations, that clients may write.

    `written` are properties by attribute. The `free_key` may refer to any row, even one that the
    caller may not read.
    """
    return [
        _reference(relation, written, find, is_free=relation.foreign_key == free_key)
        for relation in relations
        if relation.kind == BELONGS_TO and written.keys() & relation.attributes
    ]


def _reference(
    relation: Relation, written: Mapping[str, str], find: FindTarget, is_free: bool
) -> AnyReference:
    key = relation.foreign_key
    if relation.has_types:
        names = {name: written.get(name, name) for name in relation.attributes}
        find_typed = partial(_find_typed, relation, find)
        return TypedReference(names, key, relation.discriminator, find_typed)
    find_rows = _find_existing if is_free else _find_readable
    return Reference(written[key], key, partial(find_rows, find, relation.target))


def _find_readable(find: FindTarget, name: str, row_ids: Collection[Id]) -> set[Id]:
    """Return those of the ids that belong to a collection's rows which the caller may read."""
    target = find(name)
    return target.rows.existing(row_ids, target.readable)


def _find_existing(find: FindTarget, name: str, row_ids: Collection[Id]) -> set[Id]:
    """Return those of the ids that belong to rows of a collection."""
    return find(name).rows.existing(row_ids, [])


def _find_typed(
    relation: Relation, find: FindTarget, type_: object, row_ids: Collection[Id]
) -> set[Id] | None:
    """Return those of the ids that belong to a model's rows which the caller may read.

    None if the relation does not lead to such a model.
    """
    name = relation.resource_of(type_)
    if name is None:
        return None
    parse = find(name).id_form.parse
    parsed = {row_id: parse(str(row_id)) for row_id in row_ids}
    known = {row_id for row_id in parsed.values() if row_id is not None}
    readable = _find_readable(find, name, known) if known else set()
    return {given for given, row_id in parsed.items() if row_id in readable}
