"""Relations that features add to other features' resources."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from flask import Flask

from app.access.rules import Rule
from app.config import ConfigurationError
from app.state import AppState

from .collection import served_collections
from .relations import Relation
from .resource import Resource


class AddedRelation(NamedTuple):
    """A relation with its name, and the rules for its methods."""

    name: str
    relation: Relation
    rules: Sequence[Rule]


# Relations by the name of the resource that has them.
_added = AppState[defaultdict[str, list[AddedRelation]]](
    "added relations", factory=lambda _app: defaultdict(list)
)


def add_relation(
    app: Flask, resource: str, name: str, relation: Relation, rules: Sequence[Rule] = ()
) -> None:
    """Add a relation, with rules for its methods, to a resource that is not yet registered.

    In `init_app` of a file of models, users are not yet registered. Raises ConfigurationError if
    the resource is already registered.

    Example::

        rules = [allow(OWNER, "__get__notes", "__create__notes")]
        add_relation(app, "users", "notes", has_many("notes", "owner_id"), rules)
    """
    if resource in served_collections.of(app):
        raise ConfigurationError(
            f"the relation {resource}.{name}: {resource} is registered already"
        )
    _added.of(app)[resource].append(AddedRelation(name, relation, rules))


def with_added_relations(app: Flask, resource: Resource) -> Resource:
    """Return a resource with the relations that were added to it, unless it has them."""
    own = resource.relations
    added = [new for new in _added.of(app)[resource.name] if new.name not in own]
    if not added:
        return resource
    rules = [rule for new in added for rule in new.rules]
    return replace(
        resource,
        relations={**own, **{new.name: new.relation for new in added}},
        rules=lambda settings: [*resource.rules(settings), *rules],
    )
