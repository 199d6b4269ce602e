"""A parsed filter: plain nodes, which know neither a database nor a request."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .kinds import Kind
from .regexps import Alternative

#: Rows in a response: the default and the maximum.
MAX_LIMIT = 1000
# The property of models with `strict: false` that holds what they do not declare.
OTHERS = "$others"


@dataclass(frozen=True)
class Place:
    """A property, or what is at a path in an object: `address.city` is the step `city`."""

    property: str
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the name that clients have for it."""
        return ".".join(self.steps if self.property == OTHERS else (self.property, *self.steps))


@dataclass(frozen=True)
class Pattern:
    """What a text matches one of: a pattern of `like`, or the alternatives of a `regexp`."""

    # The client's form.
    text: str
    alternatives: tuple[Alternative, ...]
    ignores_case: bool = False


@dataclass(frozen=True)
class Near:
    """A position, and the least and greatest distance from it, in radians."""

    position: Mapping[str, float]
    least: float | None
    most: float | None
    # The client's form.
    given: Mapping[str, object]


@dataclass(frozen=True)
class Comparison:
    """A comparison of what is at a place with an operand, by an operator such as `gt`."""

    place: Place
    kind: Kind
    operator: str
    # A value of the kind, null or a tuple of these; for some operators a Pattern, a Near or a bool.
    operand: object


@dataclass(frozen=True)
class Group:
    """All of several `where`s, or at least one: the operator is `and` or `or`."""

    operator: str
    wheres: "tuple[Where, ...]"


Condition = Comparison | Group
# The conditions of one object of JSON, which hold together.
Where = tuple[Condition, ...]


@dataclass(frozen=True)
class Order:
    """One of the things that rows are ordered by: a value, or the distance from a position."""

    place: Place
    descending: bool = False
    near: Near | None = None


@dataclass(frozen=True)
class Filter:
    """A parsed filter; `raw` is the client's form."""

    where: Where = ()
    order: tuple[Order, ...] = ()
    limit: int = MAX_LIMIT
    skip: int = 0
    # Names of the properties to return; None means all.
    fields: frozenset[str] | None = None
    # The filter for the rows of each included relation, by its name; the related model parses it.
    include: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    raw: Mapping[str, object] = field(default_factory=dict)
    # Properties that the objects of rows do not have where these are included into others.
    withheld: Collection[str] = ()
    # Properties that includes read, although `fields` or `withheld` leaves them out.
    kept: Collection[str] = ()

    @property
    def has_limit(self) -> bool:
        """Whether the client set a limit."""
        return bool(self.raw.get("limit"))


def comparisons(where: Where) -> Iterator[Comparison]:
    """Yield the comparisons of a `where` at any depth, in order."""
    for condition in where:
        if isinstance(condition, Comparison):
            yield condition
        else:
            for inner in condition.wheres:
                yield from comparisons(inner)
