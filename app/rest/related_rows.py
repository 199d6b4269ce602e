"""Relations in the filters of a collection: which ones they may use, and the caller's grants."""

from dataclasses import replace
from functools import partial

from app.access.policy import Grant, find_grant
from app.errors import InvalidFilter

from .filters.related import FilteredModel, Properties
from .filters.sql import NO_RELATIONS, RelatedSql
from .filters.tree import Filter, RelationPath
from .related_sql import RelatedCollection, RelatedRowsSql
from .relations import REFERENCES_MANY, Relation
from .rows.grants import NO_GRANTS, RelatedGrants, general_form


def filtered_model(collection: RelatedCollection, properties: Properties) -> FilteredModel:
    """Return what filters may use of a collection: these properties, and relations."""
    return FilteredModel(properties, partial(_find_related, collection))


def included_model(collection: RelatedCollection, properties: Properties) -> FilteredModel:
    """Return what filters may use of rows that are included into others."""

    def find(name: str) -> FilteredModel | None:
        is_protected = name in collection.resource.protected
        return None if is_protected else _find_related(collection, name)

    return FilteredModel(properties, find)


def _find_related(collection: RelatedCollection, name: str) -> FilteredModel | None:
    """Return what filters may use of the rows that a relation leads to.

    None if there is no such relation. Raises InvalidFilter for one that filters cannot use.
    """
    relation = collection.shown_relations.get(name)
    if relation is None:
        return None
    if relation.has_types:
        raise InvalidFilter(f"{name} leads to rows of several models, which filters cannot use.")
    if relation.is_embedded:
        shown = collection.properties.items()
        held = next((held for held, column in shown if column.key == relation.foreign_key), name)
        raise InvalidFilter(f"{name} leads to embedded objects; use paths, such as {held}.name.")
    target = collection.target(relation)
    if not target.rows.in_database:
        raise InvalidFilter(f"{name} leads to rows of a data source, which filters cannot use.")
    # An include shows no properties beyond those of the relation's scope.
    fields = target.usual_filter(relation.scope).fields if relation.scope else None
    is_array = relation.kind == REFERENCES_MANY
    return replace(target.included_model.within(fields), is_many=relation.many, is_array=is_array)


def grant_to_related(
    parent: RelatedCollection, relation: Relation, target: RelatedCollection, path: str
) -> Grant | None:
    """Return the caller's grant for including the rows of a relation; raise the access error.

    None if no row is shown: if the target differs between rows, or if the parent's rules decide on
    most includes but not on this one, such as of users.
    """
    may_be_none = relation.has_types or parent.resource.ruled_by_parent
    if not may_be_none or target.resource.ruled_by_parent:
        return target.related_grant(relation.read_method, path)
    grant = find_grant(target.name, relation.read_method)
    return grant if grant.decision else None


class RelatedRows:
    """The relations of a collection, in the SQL of its filters."""

    def __init__(self, collection: RelatedCollection) -> None:
        self._collection = collection

    def grants(self, filter_: Filter) -> RelatedGrants:
        """Return the caller's grants for the relations of a filter; raise the access error."""
        is_general = not self._collection.rows.shown.is_dynamic
        if not filter_.relations:
            return NO_GRANTS if is_general else RelatedGrants({}, None)
        found = dict[RelationPath, Grant | None]()
        general = dict[RelationPath, Grant | None]()
        for path in dict.fromkeys(filter_.relations):
            *before, name = path
            parent = self._collection
            for step in before:
                parent = parent.target(parent.relations[step])
            relation = parent.relations[name]
            target = parent.target(relation)
            grant = grant_to_related(parent, relation, target, ".".join(path))
            found[path] = grant
            is_general = is_general and not target.rows.shown.is_dynamic
            if grant is None:
                general[path] = None
            elif form := general_form(grant, target.rows.owner):
                general[path] = form
        is_general = is_general and len(general) == len(found)
        return RelatedGrants(found, tuple(general.items()) if is_general else None)

    def sql(self, filter_: Filter, grants: RelatedGrants | None = None) -> RelatedSql:
        """Return the SQL about the related rows that grants cover, by default the caller's."""
        if not filter_.relations:
            return NO_RELATIONS
        permitted = (grants or self.grants(filter_)).by_path
        return RelatedRowsSql(self._collection, self._collection.rows.key.table, permitted)
