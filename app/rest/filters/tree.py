"""A parsed filter: plain nodes, which know neither a database nor a request."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

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
class Comparison:
    """A comparison of what is at a place with an operand, by an operator such as `gt`."""

    place: Place
    kind: Kind
    operator: str
    # A value of the kind, null, a tuple of these, a Pattern, or for `exists` a bool.
    operand: Any


@dataclass(frozen=True)
class Near:
    """A condition on the distance from a position, in radians, and the order of the nearest."""

    property: str
    position: Mapping[str, float]
    least: float | None
    most: float | None
    # The client's form.
    given: Mapping[str, object]


@dataclass(frozen=True)
class And:
    """All of several `where`s."""

    wheres: "tuple[Where, ...]"


@dataclass(frozen=True)
class Or:
    """At least one of several `where`s."""

    wheres: "tuple[Where, ...]"


Condition = Comparison | Near | And | Or
# The conditions of one object of JSON, which hold together.
Where = tuple[Condition, ...]


@dataclass(frozen=True)
class Order:
    """One of the things that rows are ordered by."""

    place: Place
    descending: bool = False


@dataclass(frozen=True)
class Filter:
    """A parsed filter; `raw` is the client's form."""

    where: Where = ()
    order: tuple[Order | Near, ...] = ()
    limit: int = MAX_LIMIT
    skip: int = 0
    # Names of the properties to return; None means all.
    fields: frozenset[str] | None = None
    # The filter for the rows of each included relation, by its name; the related model parses it.
    include: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    raw: Mapping[str, object] = field(default_factory=dict)
    # Properties that includes read, although `fields` leaves them out.
    kept: Collection[str] = ()

    @property
    def has_limit(self) -> bool:
        """Whether the client set a limit."""
        return bool(self.raw.get("limit"))


def leaves(where: Where) -> Iterator[Comparison | Near]:
    """Yield the conditions of a `where` at any depth, in order."""
    for condition in where:
        if isinstance(condition, And | Or):
            for inner in condition.wheres:
                yield from leaves(inner)
        else:
            yield condition
