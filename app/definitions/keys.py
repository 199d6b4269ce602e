"""The keys of relations that are declared as belongsTo."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from app.properties.declaration import Declaration
from app.rest.relations import BELONGS_TO

SEPARATED = re.compile(r"_+(\w)")


class BelongsTo(NamedTuple):
    """A belongsTo relation: its name, target model, and foreign key."""

    name: str
    model: object
    key: str


class PolymorphicKey(NamedTuple):
    """The properties of a polymorphic relation: the id of a row, and the name of its model."""

    key: str
    discriminator: str


def belongs_to(relations: Mapping[str, Declaration]) -> list[BelongsTo]:
    """Return the relations that are declared as belongsTo."""
    return [
        BelongsTo(
            name,
            relation.mapping.get("model"),
            str(relation.mapping.get("foreignKey") or f"{name}Id"),
        )
        for name, relation in relations.items()
        if relation.mapping.get("type") == BELONGS_TO and not relation.mapping.get("polymorphic")
    ]


def polymorphic_keys(relations: Mapping[str, Declaration]) -> list[PolymorphicKey]:
    """Return the keys of the relations that are declared as belongsTo and polymorphic."""
    return [
        polymorphic_key(name, relation.mapping.get("polymorphic"))
        for name, relation in relations.items()
        if relation.mapping.get("type") == BELONGS_TO and relation.mapping.get("polymorphic")
    ]


def polymorphic_key(relation: str, declared: object) -> PolymorphicKey:
    """Return the properties that LoopBack 3 uses for a relation with the key `polymorphic`.

    Its value is the name of the belongsTo relation, an object, or `true` for the relation's own
    name.
    """
    named = declared if isinstance(declared, Mapping) else {"selector": declared}
    given = next((named[key] for key in ("selector", "as") if named.get(key)), True)
    selector = relation if given is True else str(given)
    start = SEPARATED.sub(lambda match: match[1].upper(), selector[0].lower() + selector[1:])
    return PolymorphicKey(
        str(named.get("foreignKey") or f"{start}Id"),
        str(named.get("discriminator") or f"{start}Type"),
    )
