"""Relations as an app serves them: those that features add, and those to rows within a scope."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from flask import Flask, current_app

from app.access.rules import Rule
from app.problems import ConfigurationError
from app.settings import Settings
from app.state import AppState

from .collection import Collection, served_collections
from .filters.parser import refuse_cursor
from .filters.tree import Filter
from .relations import Relation, filter_within
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


class ScopedCollection(Collection):
    """The rows of a collection within the scope of a relation, a filter.

    Rows that do not match its `where` are treated as missing. As in LoopBack 3, its `limit` and
    `fields` bound those of requests; `order` and `include` are defaults.
    """

    def __init__(self, target: Collection, scope: Mapping[str, object], settings: Settings) -> None:
        """Return the rows of the target; raise InvalidFilter for an invalid scope."""
        default = filter_within(target.resource.default_filter, scope)
        super().__init__(replace(target.resource, default_filter=default), settings)
        self.rows.reader = target.rows.reader
        self.writer.before_write = target.writer.before_write
        self._scope = scope
        # A scope uses no relations, unlike the filters of requests.
        self.usual_filter({})
        self._widest = super().parse(None)
        refuse_cursor(self._widest)
        self.rows.cursors = self.rows.cursors.within(self._widest.fields)

    def parse(self, raw: Mapping[str, object] | None) -> Filter:
        """Read a filter for these rows; raise InvalidFilter."""
        return self._limited(super().parse(raw))

    def parse_included(self, raw: Mapping[str, object] | None) -> Filter:
        """Read a filter for rows that are included into others; raise InvalidFilter."""
        given = {name: value for name, value in (raw or {}).items() if name != "include" or value}
        included = {"include": self._scope["include"]} if "include" in self._scope else {}
        return self._limited(super().parse_included({**included, **given}))

    def _limited(self, filter_: Filter) -> Filter:
        """Return a filter that reads no more than the scope allows."""
        widest = self._widest
        fields = filter_.fields if widest.fields is None else widest.fields
        if widest.fields is not None and filter_.fields is not None:
            fields = widest.fields & filter_.fields
        limited = replace(filter_, fields=fields, limit=min(filter_.limit, widest.limit))
        return self._keep_included(limited)


# An app's targets of relations with a scope, by target name and scope.
scoped_collections = AppState[dict[tuple[str, str], ScopedCollection]](
    "scoped collections", factory=lambda _app: {}
)


def target_of(relation: Relation) -> Collection:
    """Return the collection that a relation leads to, within its scope.

    Raises InvalidFilter for an invalid scope; this is checked at start.
    """
    target = served_collections.current[relation.target]
    if not relation.scope:
        return target
    known, key = scoped_collections.current, (relation.target, relation.scope_text)
    if key not in known:
        known[key] = ScopedCollection(target, relation.scope, current_app.config)
    return known[key]
