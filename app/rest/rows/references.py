"""References to other rows, and owners, in request bodies.

References must be to existing rows that the caller may read. Otherwise responses would reveal which
ids exist, and anyone could attach rows to others' rows. Callers own what they create: naming
another owner requires the permission to change other users' rows.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from app.access.identity import current_identity
from app.access.policy import find_grant
from app.errors import ValidationError
from app.ids import Id, IdForm
from app.rest.relations import BELONGS_TO, Relation

from .repository import Repository
from .values import Conditions, Values

# The same message for missing rows and for rows that the caller may not read.
UNKNOWN_REFERENCE = "refers to a row that does not exist, or that you may not read"
OWNER_FIXED = "is the owner, whom you may not change"
UNKNOWN_TYPE = "is not the name of a model that the row may belong to"
ALSO_NEEDED = "is needed beside the id, or the name of the model"

# The index of an item, its property, and the problem.
ReferenceProblem = tuple[int, str, str]


class Reference(NamedTuple):
    """A property with the id of another row."""

    name: str
    attribute: str
    # Returns those of the ids that belong to rows which the caller may read.
    find_readable: Callable[[Collection[Id]], set[Id]]

    @property
    def names(self) -> Mapping[str, str]:
        """The property by its attribute."""
        return {self.attribute: self.name}

    def problems(self, items: Sequence[Values]) -> Iterator[ReferenceProblem]:
        """Yield the items whose reference the caller may not read."""
        for place in _unreadable(items, self.attribute, self.find_readable):
            yield place, self.name, UNKNOWN_REFERENCE


class TypedReference(NamedTuple):
    """Properties with the id of another row, and the name of its model."""

    # The properties by attribute.
    names: Mapping[str, str]
    attribute: str
    discriminator: str
    # Returns, for a model's name, those of the ids that belong to rows which the caller may read;
    # None if the model does not exist.
    find_readable: Callable[[object, Collection[Id]], set[Id] | None]

    def problems(self, items: Sequence[Values]) -> Iterator[ReferenceProblem]:
        """Yield the items with an unknown model, or a row that may not be read."""
        by_type = defaultdict[object, list[int]](list)
        for place, item in enumerate(items):
            type_ = item.get(self.discriminator)
            if type_ is not None or item.get(self.attribute) is not None:
                by_type[type_].append(place)
        for type_, places in by_type.items():
            if self.find_readable(type_, ()) is None:
                yield from (
                    (place, self.names[self.discriminator], UNKNOWN_TYPE) for place in places
                )
                continue
            found = [items[place] for place in places]
            readable = partial(self._find_of_type, type_)
            for number in _unreadable(found, self.attribute, readable):
                yield places[number], self.names[self.attribute], UNKNOWN_REFERENCE

    def _find_of_type(self, type_: object, row_ids: Collection[Id]) -> set[Id]:
        return self.find_readable(type_, row_ids) or set()


AnyReference = Reference | TypedReference


def check_references(
    references: Sequence[AnyReference],
    items: Sequence[Values],
    many: bool,
    fixed: Sequence[Values] = (),
) -> None:
    """Raise ValidationError for ids of rows that do not exist or that the caller may not read.

    A reference with a fixed value must have that value; each item may have its own, with the same
    keys.
    """
    problems: dict[str, list[str]] = {}
    for reference in references:
        known = [key for key in reference.names if fixed and key in fixed[0]]
        wrong = _others(reference, items, fixed, known) if known else reference.problems(items)
        problems |= {f"{place}.{name}" if many else name: [text] for place, name, text in wrong}
    if problems:
        raise ValidationError(problems)


def check_common_references(references: Sequence[AnyReference], values: Values) -> None:
    """Check references in a change of many rows, whose other values are not known."""
    for reference in references:
        missing = [name for key, name in reference.names.items() if key not in values]
        if missing and len(missing) < len(reference.names):
            raise ValidationError({name: [ALSO_NEEDED] for name in missing})
    check_references(references, [values], many=False)


def check_changed_references(
    references: Sequence[AnyReference], values: Values, find_value: Callable[[str], object]
) -> None:
    """Check references in a change of a row; unchanged ones are accepted.

    `find_value` returns the row's value of an attribute. If only a part of a reference is changed,
    the other part is added to the values, so that a concurrent request cannot change it.
    """
    for reference in references:
        given = [key for key in reference.names if key in values]
        if not given:
            continue
        whole = {key: values[key] if key in given else find_value(key) for key in reference.names}
        wrong = {name: [text] for _, name, text in reference.problems([whole])}
        if wrong and any(find_value(key) != values[key] for key in given):
            raise ValidationError(wrong)
        values.update({key: value for key, value in whole.items() if value is not None})


def _unreadable(
    items: Sequence[Values], attribute: str, find_readable: Callable[[Collection[Id]], set[Id]]
) -> list[int]:
    """Return the indices of the items whose reference the caller may not read."""
    ids = [item.get(attribute) for item in items]
    given = {row_id for row_id in ids if row_id is not None}
    if not given:
        return []
    unreadable = given - find_readable(given)
    return [place for place, row_id in enumerate(ids) if row_id in unreadable]


def _others(
    reference: AnyReference, items: Sequence[Values], fixed: Sequence[Values], keys: Sequence[str]
) -> Iterator[ReferenceProblem]:
    """Yield the items whose values for these keys differ from the fixed ones."""
    for place, (item, known) in enumerate(zip(items, fixed, strict=True)):
        for key in keys:
            if item.get(key, known[key]) != known[key]:
                is_id = key == reference.attribute
                yield place, reference.names[key], UNKNOWN_REFERENCE if is_id else UNKNOWN_TYPE


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
        raise ValidationError({name: [OWNER_FIXED]})


def check_common_owner(model: str, name: str, key: str, values: Values) -> None:
    """Raise ValidationError for a change of many rows that names an owner without permission.

    The rows are the caller's, who may be named, unless dynamic roles permit others' rows, which the
    caller would take over.
    """
    if key not in values or may_name_others(model):
        return
    is_own = values[key] == current_identity().user_id
    if not is_own or find_grant(model, "updateAll").by_row:
        raise ValidationError({name: [OWNER_FIXED]})


def owner_to_fix(model: str, own: Values, fixed: Values, items: Sequence[Values]) -> Values:
    """Return the owner that new rows must have, if the caller may not name another one.

    `own` is the caller as the owner; `fixed` are the values determined by the path.
    """
    named = own.keys() - fixed.keys()
    others = any(item.get(key, own[key]) != own[key] for key in named for item in items)
    return {} if others and may_name_others(model) else own
