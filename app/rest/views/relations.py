"""The endpoints of relations, such as `/users/7/todos`.

The rules of both sides apply to each, unless those of the parent decide alone.
"""

from collections.abc import Mapping
from functools import partial

from flask import current_app, jsonify
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import Conflict, NotFound

from app.access.narrowing import narrow
from app.access.policy import Grant, denial
from app.access.rules import READ, WRITE
from app.database.session import transaction
from app.errors import RelationEmpty, TooManyRows
from app.rest.aggregates.answer import find_aggregate
from app.rest.answers import NO_CONTENT
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, declare, declared_by, endpoints_of
from app.rest.relations import BELONGS_TO, HAS_MANY, HAS_ONE, THROUGH, Relation
from app.rest.requests.bodies import read_body, read_items
from app.rest.requests.parameters import read_parameter
from app.rest.rows.dependents import DELETION_ERRORS
from app.rest.rows.values import Conditions, Row
from app.rest.rows.writer import MAX_ROWS
from app.rest.writing import create_rows, delete_one, prepare_rows
from app.settings import is_compatible

from .links import ThroughViews
from .lists import find_list, read_list, respond_page
from .related import Related
from .representations import read_check, respond_created, respond_row, respond_selected


class BelongsToViews(Related):
    """The endpoint of a belongsTo relation."""

    @declare(
        "get",
        READ,
        "GET /",
        query="filter",
        answer="{}WithRelations",
        requires="findById",
        summary="Show the {row} that this {parent} belongs to",
    )
    def get(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show the row that this parent belongs to."""
        parent = self.parent.read(grant, self.parent.authorize_id(grant, id))
        scope = self.target_scope("findById")
        target_id = self.parent.rows.value(parent, self.relation.foreign_key)
        found = None if target_id is None else self.target.rows.get(target_id, scope)
        if found is None and is_compatible(current_app.config):
            # As in LoopBack 3 if there is no id, or no row with it.
            return jsonify({} if target_id is None else None)
        if found is None:
            raise RelationEmpty(self.name, self.target.singular)
        query = read_list(self.target)
        return respond_selected(self.target, found, query.filter_, query.includes)


class BelongsToAnyViews(Related):
    """The endpoint of a belongsTo relation to rows of several resources.

    A row of a resource that the caller may not read is treated as missing.
    """

    @declare(
        "get",
        READ,
        "GET /",
        query="filter",
        answer="{}WithRelations",
        summary="Show the {row} that this {parent} belongs to",
    )
    def get(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show the row that this parent belongs to."""
        parent = self.parent.read(grant, self.parent.authorize_id(grant, id))
        key, type_ = (self.parent.rows.value(parent, name) for name in self.relation.attributes)
        name = self.relation.resource_of(type_)
        target = served_collections.current[name] if name else None
        target_id = target.id_form.parse(str(key)) if target else None
        if target and target_id is not None:
            found = target.rows.get(target_id, target.related_readable)
            if found is not None:
                query = read_list(target)
                return respond_selected(target, found, query.filter_, query.includes)
        if is_compatible(current_app.config):
            return jsonify({} if key is None else None)
        raise RelationEmpty(self.name, target.singular if target else self.name)


class HasOneViews(Related):
    """The endpoints of a hasOne relation."""

    @declare(
        "get",
        READ,
        "GET /",
        query="filter",
        answer="{}WithRelations",
        requires="findById",
        summary="Show the {row} that belongs to the {parent}",
    )
    def get(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show the row that belongs to the parent."""
        row = self._only_child(self.scope(grant, id, "findById"))
        query = read_list(self.target)
        return respond_selected(self.target, row, query.filter_, query.includes)

    @declare(
        "create",
        WRITE,
        "POST /",
        body="New{}",
        answer="{}",
        requires="create",
        summary="Create the {row} that belongs to the {parent}, if there is none",
    )
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create the row that belongs to the parent, if there is none."""
        parent_id = self.parent_id(grant, id)
        user_id, required = self.creation()
        new = prepare_rows(self.target, read_body(), user_id, self.link_to(parent_id))
        with transaction():
            # Concurrent requests create one after the other.
            self.parent.rows.lock(parent_id)
            if self.target.rows.count([self.belonging(self.key(parent_id))]):
                raise Conflict(f"There is a {self.target.singular} already.")
            rows = self.target.insert(new, [*required, *self.kept(grant)])
        return respond_row(self.target, rows[0])

    @declare(
        "update",
        WRITE,
        "PUT /",
        body="{}Partial",
        answer="{}",
        requires="patchAttributes",
        has_preconditions=True,
        summary="Change some properties of the {row} that belongs to the {parent}",
    )
    def put(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Change some properties of the row that belongs to the parent."""
        scope = self.write_scope(grant, id, "patchAttributes")
        return self.update(self._changed_child(id, scope.conditions).id, scope)

    @declare(
        "destroy",
        WRITE,
        "DELETE /",
        errors=DELETION_ERRORS,
        requires="deleteById",
        has_preconditions=True,
        summary="Delete the {row} that belongs to the {parent}",
    )
    def delete(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete the row that belongs to the parent."""
        scope = self.scope(grant, id, "deleteById")
        row_id, check = self._changed_child(id, scope).id, read_check(self.target)
        delete_one(self.target, row_id, scope, check)
        return NO_CONTENT

    def _only_child(self, scope: Conditions) -> Row:
        """Return the row within a scope; raise RelationEmpty."""
        rows = self.target.rows.find(scope, self.target.parse({"limit": 1})).rows
        if not rows:
            raise RelationEmpty(self.name, self.target.singular)
        return rows[0]

    def _changed_child(self, parent_id: str, scope: Conditions) -> Row:
        """Return the row within a scope.

        Raises the access error for a row that the caller may read, else RelationEmpty.
        """
        try:
            return self._only_child(scope)
        except RelationEmpty:
            belonging = self.belonging(self.key(self.parent.parse_id(parent_id)))
            readable = self._only_child([belonging, *self.target.readable])
            raise denial(self.relation.target, readable.id) from None


class ToManyViews(Related):
    """The endpoints of all relations to many rows."""

    @declare(
        "get",
        READ,
        "GET /",
        query="filter",
        answer="[{}WithRelations]",
        has_pages=True,
        requires="find",
        summary="List the {row}s that belong to the {parent}",
    )
    def find(self, grant: Grant, id: str) -> ResponseReturnValue:
        """List the rows that belong to the parent."""
        key = self.key(self.parent_id(grant, id))
        permitted = self.permission("find")
        query, page = find_list(self.target, permitted, self.belonging, key)
        count = partial(query.count, permitted, key)
        return respond_page(self.target, page, count, query.filter_, query.includes)

    @declare(
        "count",
        READ,
        "GET /count",
        query="where",
        answer="Count",
        requires="count",
        summary="Count the {row}s that belong to the {parent}",
    )
    def count(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Count the rows that belong to the parent."""
        key = self.key(self.parent_id(grant, id))
        permitted = self.permission("count")
        query = read_list(self.target, self.belonging, "where")
        return jsonify({"count": query.count(permitted, key)})

    @declare(
        *("aggregate", READ, "GET /aggregate"),
        query="filter",
        query_form="aggregate",
        answer="[Aggregated]",
        requires="aggregate",
        narrowed_by="get",
        summary="Compute functions of the {row}s that belong to the {parent}, by group",
    )
    def aggregate(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Compute functions of the rows that belong to the parent, by group."""
        key, target = self.key(self.parent_id(grant, id)), self.target
        if any(endpoint.method == "aggregate" for endpoint in target.resource.own_endpoints):
            # The rules for the method are about another one, of the application.
            raise NotFound()
        permission = self.permission("aggregate")
        permitted = narrow(permission, target.name, "aggregate", self.permission)
        conditions = [self.belonging(key), *target.rows.scope(permitted)]
        return jsonify(find_aggregate(target, conditions, read_parameter("filter")))

    @declare(
        "findById",
        READ,
        "GET /<fk>",
        answer="{}",
        requires="findById",
        summary="Show one {row} that belongs to the {parent}",
    )
    def find_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Show one row that belongs to the parent."""
        conditions = self.scope(grant, id, "findById")
        row_id = self.target.parse_id(fk)
        row = self.target.or_404(row_id, self.target.rows.get(row_id, conditions))
        if self.target.resource.default_filter:
            return respond_selected(self.target, row, self.target.parse(None))
        return respond_row(self.target, row)

    @declare(
        "updateById",
        WRITE,
        "PUT /<fk>",
        body="{}Partial",
        answer="{}",
        requires="patchAttributes",
        has_preconditions=True,
        summary="Change some properties of one {row} that belongs to the {parent}",
    )
    def update_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Change some properties of one row that belongs to the parent."""
        scope = self.write_scope(grant, id, "patchAttributes")
        return self.update(self.child_id(id, fk, scope.conditions), scope)


class HasManyViews(Related):
    """The endpoints that only hasMany relations have."""

    @declare(
        *("create", WRITE, "POST /"),
        body="New{} | [New{}]",
        answer="{} | [{}]",
        requires="create",
        summary="Create a {row} that belongs to the {parent}, or all {row}s of an array or none",
    )
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row that belongs to the parent, or all rows of an array or none."""
        link = self.link_to(self.parent_id(grant, id))
        user_id, required = self.creation()
        body = read_items()
        rows = create_rows(self.target, body, user_id, link, [*required, *self.kept(grant)])
        return respond_created(self.target, rows, body)

    @declare(
        "destroyById",
        WRITE,
        "DELETE /<fk>",
        errors=DELETION_ERRORS,
        requires="deleteById",
        has_preconditions=True,
        summary="Delete one {row} that belongs to the {parent}",
    )
    def destroy_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Delete one row that belongs to the parent."""
        conditions = self.scope(grant, id, "deleteById")
        row_id, check = self.child_id(id, fk, conditions), read_check(self.target)
        delete_one(self.target, row_id, conditions, check)
        return NO_CONTENT

    @declare(
        "delete",
        WRITE,
        "DELETE /",
        errors=(*DELETION_ERRORS, TooManyRows(MAX_ROWS)),
        requires="deleteById",
        summary="Delete all {row}s that belong to the {parent} and that the caller may delete",
    )
    def delete_all(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete all rows that belong to the parent and that the caller may delete."""
        self.target.delete(self.scope(grant, id, "deleteById"))
        return NO_CONTENT


# The view classes of each kind of relation; other kinds can only be included.
VIEWS: Mapping[str, tuple[type[Related], ...]] = {
    BELONGS_TO: (BelongsToViews,),
    HAS_ONE: (HasOneViews,),
    HAS_MANY: (ToManyViews, HasManyViews),
    THROUGH: (ToManyViews, ThroughViews),
}


def relation_endpoints(parent: Collection) -> list[Endpoint]:
    """Return the endpoints of a collection's relations."""
    return [
        _below(name, relation, endpoint)
        for name, relation in parent.relations.items()
        for views in _views(relation)
        for endpoint in endpoints_of(views(parent, name, relation))
    ]


def declared_relation_endpoints(relations: Mapping[str, Relation]) -> list[Endpoint]:
    """Return the endpoints of relations as declared; they cannot be called."""
    return [
        _below(name, relation, endpoint)
        for name, relation in relations.items()
        for views in _views(relation)
        for endpoint in declared_by(views).values()
    ]


def _views(relation: Relation) -> tuple[type[Related], ...]:
    return (BelongsToAnyViews,) if relation.has_types else VIEWS.get(relation.kind, ())


def _below(name: str, relation: Relation, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint of a relation as one of its parent."""
    narrowed_by = endpoint.narrowed_by and f"__{endpoint.narrowed_by}__{name}"
    return endpoint.replace(
        method=f"__{endpoint.method}__{name}",
        narrowed_by=narrowed_by,
        routes=tuple(route.below(f"/<id>/{name}") for route in endpoint.routes),
        relation=relation,
        subject=relation.target or None,
        answers=tuple(sorted(set(relation.types.values()))),
        finds_row=True,
    )
