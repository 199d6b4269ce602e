"""Relations in filters: where a relation may stand, and how its conditions are read."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.errors import InvalidFilter, quote

from .kinds import BOOLEAN, Kind
from .operators import read_flag
from .tree import Related, RelationPath, Where

#: Maximum relations that a condition, an order or a group follows, one after the other, such as
#: `site.organization`.
MAX_RELATION_STEPS = 2
# An object all of whose keys are among these has them as quantifiers.
QUANTIFIERS = ("some", "none", "every", "exists")
EXISTS = '{"exists": true}'

# The kinds of the properties that a filter may use.
Properties = Mapping[str, Kind]
# Returns the model that a relation leads to, or None if there is no such relation. Raises
# InvalidFilter with the reason for one that filters cannot use.
FindRelated = Callable[[str], "FilteredModel | None"]


def no_relations(name: str) -> None:
    """Return None: the model has no relations."""


def refusing(relations: Container[str], computed: Container[str] = ()) -> FindRelated:
    """Return what refuses these relations and computed properties in default filters and scopes."""

    def refuse(name: str) -> None:
        for names, kind in ((relations, "a relation"), (computed, "a computed property")):
            if name in names:
                raise InvalidFilter(f"{name} is {kind}; default filters and scopes use none.")

    return refuse


@dataclass(frozen=True)
class FilteredModel:
    """What a filter may use of a model: its properties, and relations to other models."""

    properties: Properties
    find_related: FindRelated = no_relations
    # Whether the relation that leads to it leads to many rows, by an array of ids if `is_array`.
    is_many: bool = False
    is_array: bool = False
    # The relations that lead to it from the model of the filter.
    path: RelationPath = ()

    def within(self, fields: Container[str] | None) -> "FilteredModel":
        """Return the model with those of its properties that are in `fields`; None means all."""
        if fields is None:
            return self
        shown = {name: kind for name, kind in self.properties.items() if name in fields}
        return replace(self, properties=shown)

    def related(self, name: str) -> "FilteredModel | None":
        """Return the model that a relation leads to; None if no relation has this name.

        A property of the same name comes first. Raises InvalidFilter.
        """
        found = None if name in self.properties else self.find_related(name)
        if found is None:
            return None
        path = (*self.path, name)
        if len(path) > MAX_RELATION_STEPS:
            raise InvalidFilter(
                f"{quote('.'.join(path))}: conditions, orders and groups follow at most"
                f" {MAX_RELATION_STEPS} relations, one after the other."
            )
        return replace(found, path=path)

    def usable(self, names: Iterable[str]) -> "Iterator[tuple[str, FilteredModel]]":
        """Yield those of the relations that filters may use, with the models they lead to."""
        for name in names:
            try:
                found = self.related(name)
            except InvalidFilter:
                continue
            if found is not None:
                yield name, found


# Reads a `where` for the rows of a model.
ReadWhere = Callable[[object, FilteredModel], Where]


def read_related(value: object, model: FilteredModel, read_where: ReadWhere) -> Iterator[Related]:
    """Yield the conditions on the rows of a related model; raise InvalidFilter."""
    name = ".".join(model.path)
    if not isinstance(value, dict) or not value:
        raise InvalidFilter(
            f"{name} is a relation: it must be an object with conditions on its rows, or {EXISTS}."
        )
    if not value.keys() <= {*QUANTIFIERS}:
        yield Related(model.path, "some", read_where(value, model), model.is_array)
        return
    for word, operand in value.items():
        yield _read_quantified(f"{name}.{word}", word, operand, model, read_where)


def _read_quantified(
    name: str, word: str, operand: object, model: FilteredModel, read_where: ReadWhere
) -> Related:
    if word == "exists":
        exists = read_flag(name, BOOLEAN, operand)
        return Related(model.path, "some" if exists else "none", (), model.is_array)
    if not model.is_many:
        raise InvalidFilter(
            f"{name}: {model.path[-1]} leads to one row; write its conditions without {word}."
        )
    if not isinstance(operand, dict):
        raise InvalidFilter(f"{name} must be an object with conditions on the rows.")
    if word == "every" and not operand:
        raise InvalidFilter(f"{name} must have a condition: without one it is true for every row.")
    return Related(model.path, word, read_where(operand, model), model.is_array)
