"""A parsed filter: plain nodes that depend on neither a database nor a request."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .kinds import Kind
from .patterns import Alternative

#: Rows in a response: the default and the maximum.
MAX_LIMIT = 1000
# The property of models with `strict: false` that holds undeclared properties.
OTHERS = "$others"


# The names of relations that lead from a row to another one, in order: `site.organization`.
RelationPath = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A property, or a path into an object: `address.city` has the step `city`."""

    property: str
    steps: tuple[str, ...] = ()
    # The relations to one that lead to the row with the property.
    relations: RelationPath = ()

    def is_path(self) -> bool:
        """Return True if it is a path, and no property, declared or not."""
        return len(self.steps) > (1 if self.property == OTHERS else 0)

    def own_name(self) -> str:
        """Return the name that clients use in the row that has the property."""
        return ".".join(self.steps if self.property == OTHERS else (self.property, *self.steps))

    def __str__(self) -> str:
        """Return the name that clients use."""
        return ".".join((*self.relations, self.own_name()))


@dataclass(frozen=True)
class Pattern:
    """A pattern that a text must match: of `like`, or one of the alternatives of a `regexp`."""

    # As sent by the client.
    text: str
    alternatives: tuple[Alternative, ...]
    ignores_case: bool = False


@dataclass(frozen=True)
class Near:
    """A position, with the minimum and maximum distance from it in radians."""

    position: Mapping[str, float]
    least: float | None
    most: float | None
    # As sent by the client.
    given: Mapping[str, object]


@dataclass(frozen=True)
class Comparison:
    """A comparison with an operand, by an operator such as `gt`."""

    place: Place
    kind: Kind
    operator: str
    # A value of the kind, null or a tuple of these; for some operators a Pattern, a Near or a bool.
    operand: object


@dataclass(frozen=True)
class Group:
    """A conjunction or disjunction of `where`s: the operator is `and` or `or`."""

    operator: str
    wheres: "tuple[Where, ...]"


@dataclass(frozen=True)
class Related:
    """A condition on the rows that a relation leads to.

    The quantifier is `some`, `none` or `every`; `exists` is `some` or `none` without conditions.
    """

    # From the model of the filter; the last one is the relation.
    path: RelationPath
    quantifier: str
    where: "Where"
    # Whether the ids of the rows are in an array.
    is_array: bool = False


WhereNode = Comparison | Group | Related
# The conditions in one JSON object, all of which must hold.
Where = tuple[WhereNode, ...]


@dataclass(frozen=True)
class Order:
    """A term of an order: a value, or the distance from a position."""

    place: Place
    descending: bool = False
    near: Near | None = None
    is_computed: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether it is the value of a stored property of the row itself."""
        is_other = self.near or self.is_computed or self.place.steps or self.place.relations
        return not is_other


@dataclass(frozen=True)
class Filter:
    """A parsed filter; `raw` is as sent by the client."""

    where: Where = ()
    order: tuple[Order, ...] = ()
    limit: int = MAX_LIMIT
    skip: int = 0
    # The cursor after which the page begins; empty without one.
    after: str = ""
    # Names of the properties to return; None means all.
    fields: frozenset[str] | None = None
    # The filter for the rows of each included relation, by its name; parsed by the related model.
    include: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    raw: Mapping[str, object] = field(default_factory=dict)
    # Properties that are left out of rows included into others.
    withheld: Collection[str] = ()
    # Properties that includes read although `fields` or `withheld` leaves them out.
    kept: Collection[str] = ()
    # The relations in `where` and `order`, as often as they occur.
    relations: tuple[RelationPath, ...] = ()

    @property
    def has_limit(self) -> bool:
        """Whether the client set a limit."""
        return bool(self.raw.get("limit"))


def comparisons(where: Where) -> Iterator[Comparison]:
    """Yield the comparisons of a `where` at any depth, those of related rows too, in order."""
    for condition in where:
        if isinstance(condition, Comparison):
            yield condition
        elif isinstance(condition, Related):
            yield from comparisons(condition.where)
        else:
            for inner in condition.wheres:
                yield from comparisons(inner)


def related_conditions(where: Where) -> list[Related]:
    """Return the conditions of a `where` on related rows, at any depth, in order."""
    found = list[Related]()
    for node in where:
        match node:
            case Group(wheres=wheres):
                for inner in wheres:
                    found += related_conditions(inner)
            case Related(where=inner):
                found += [node, *related_conditions(inner)]
    return found


def relation_paths(where: Where, places: Iterable[Place]) -> tuple[RelationPath, ...]:
    """Return the relations of a `where` and those that lead to places, as often as they occur."""
    found = list[RelationPath]()
    for related in related_conditions(where):
        found += [related.path]
    for place in places:
        found += [place.relations[: step + 1] for step in range(len(place.relations))]
    return tuple(found)
