"""The endpoints of relations, such as `/users/7/todos`.

The rules of both sides apply to each, unless those of the parent decide alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response, current_app, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import and_, delete, exists, insert, select
from werkzeug.exceptions import Conflict

from app.access.policy import CREATE_RELATED, Grant, denial
from app.access.rules import READ, WRITE
from app.database.ids import key_value
from app.database.session import connection, transaction
from app.errors import BLANK, OVERTAKEN, RelationEmpty, TooManyRows, ValidationError
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import NO_CONTENT, Endpoint, declare, declared_by, endpoints_of
from app.rest.relations import BELONGS_TO, HAS_MANY, HAS_ONE, THROUGH, Relation
from app.rest.requests.bodies import read_body
from app.rest.requests.parameters import read_parameter
from app.rest.rows.dependents import DELETION_ERRORS
from app.rest.rows.repository import Conditions
from app.rest.rows.writer import MAX_ROWS
from app.settings import is_compatible

from .lists import find_list, read_list
from .paging import respond_page
from .read_only import without_echo
from .serialization import respond_selected
from .tagged import check_first, read_check, respond_row


class Related:
    """The parent and the target of one relation."""

    def __init__(self, parent: Collection, name: str, relation: Relation) -> None:
        self.parent = parent
        self.name = name
        self.relation = relation

    @property
    def target(self) -> Collection:
        """The collection whose rows these are."""
        return served_collections.current[self.relation.target]

    def parent_id(self, grant: Grant, text: str) -> Id:
        """Return the id of a parent that the caller's permission covers; raise ModelNotFound."""
        parent_id = self.parent.authorize_id(grant, text)
        # The caller exists, as the token proves; whether other rows do must be asked.
        is_caller = self.parent.is_owner_model and parent_id == grant.user_id
        if grant.by_row or not is_caller:
            self.parent.read(grant, parent_id)
        return parent_id

    def belonging(self, key: Any) -> Any:
        """Return the condition that a row of the target belongs to a parent, by its `key`."""
        if self.relation.through is None:
            column = self.target.rows.column
            return and_(*(column(name) == value for name, value in self._linked_by(key).items()))
        link = self.relation.link
        linked = select(link(self.relation.target_key))
        belongs = link(self.relation.foreign_key) == key
        # The model between both may be the target itself, whose table is that of the query.
        return self.target.rows.key.in_(linked.where(belongs).correlate(None))

    def key(self, parent_id: Id) -> Id:
        """Return the id of a parent as the foreign key has it."""
        if not self.relation.discriminator:
            return parent_id
        return key_value(self.target.rows.column(self.relation.foreign_key), parent_id)

    def link_to(self, parent_id: Id) -> Mapping[str, Any]:
        """Return what a row of the target has that belongs to a parent, by attribute."""
        return self._linked_by(self.key(parent_id))

    def _linked_by(self, key: Any) -> Mapping[str, Any]:
        relation = self.relation
        of_type = {relation.discriminator: relation.type_name} if relation.discriminator else {}
        return {relation.foreign_key: key, **of_type}

    def scope(self, grant: Grant, text: str, target_method: str) -> Conditions:
        """Return the conditions for the parent's rows on which the target's method is allowed."""
        parent_id = self.parent_id(grant, text)
        return [self.belonging(self.key(parent_id)), *self.target_scope(target_method)]

    def permission(self, target_method: str) -> Grant:
        """Return the caller's permission for a method of the target; raise the access error."""
        return self.target.related_grant(target_method, self.name)

    def target_scope(self, target_method: str) -> Conditions:
        """Return the conditions for the rows of the target on which its method is allowed."""
        return self.target.rows.scope(self.permission(target_method))

    def child_id(self, parent_id: str, text: str, scope: Conditions) -> Id:
        """Return the id of a row of the parent within a scope.

        Raises the access error for one that the caller may read, else ModelNotFound, also for a row
        of another parent; whatever the body of the request is.
        """
        row_id = self.target.parse_id(text)
        belonging = self.belonging(self.key(self.parent.parse_id(parent_id)))
        self.target.or_denied(row_id, self.target.rows.get(row_id, scope), [belonging])
        return row_id

    def new_row(self, fixed: Mapping[str, Any]) -> Sequence[Any]:
        """Prepare a row of the target from the body, with these values."""
        # A user who is created is nobody's.
        method = "create" if self.target.is_owner_model else CREATE_RELATED
        grant = self.permission(method)
        return self.target.prepare(read_body(), grant.user_id, dict(fixed))

    def update(self, row_id: Id, scope: Conditions) -> ResponseReturnValue:
        """Change some properties of a row of the target."""
        body, check = read_body(), check_first(self.target, row_id, scope)
        changes = without_echo(self.target, row_id, scope, body)
        row = self.target.update_one(row_id, scope, changes, partial=True, check=check)
        return respond_row(self.target, row)


class BelongsToViews(Related):
    """The endpoint of a belongsTo relation."""

    @declare("get", READ, "GET /", query="filter", answer="{}WithRelations", requires="findById")
    def get(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show the row that this parent belongs to."""
        parent = self.parent.read(grant, self.parent.authorize_id(grant, id))
        scope = self.target_scope("findById")
        target_id = self.parent.rows.value(parent, self.relation.foreign_key)
        found = None if target_id is None else self.target.rows.get(target_id, scope)
        if found is None and is_compatible(current_app.config):
            # As LoopBack 3 answers if there is no id, and if there is no row with it.
            return jsonify({} if target_id is None else None)
        if found is None:
            raise RelationEmpty(self.name, self.target.singular)
        query = read_list(self.target)
        return respond_selected(self.target, found, query.filter_, query.includes)


class BelongsToAnyViews(Related):
    """The endpoint of a belongsTo relation to rows of several resources.

    A row of a resource that the caller may not read is as if it did not exist.
    """

    @declare("get", READ, "GET /", query="filter", answer="{}WithRelations")
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

    @declare("get", READ, "GET /", query="filter", answer="{}WithRelations", requires="findById")
    def get(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show the row that belongs to the parent."""
        row = self._only_child(self.scope(grant, id, "findById"))
        query = read_list(self.target)
        return respond_selected(self.target, row, query.filter_, query.includes)

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", requires="create")
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create the row that belongs to the parent, if there is none."""
        parent_id = self.parent_id(grant, id)
        new = self.new_row(self.link_to(parent_id))
        with transaction():
            # Concurrent requests create one after the other.
            self.parent.rows.lock(parent_id)
            if self.target.rows.count([self.belonging(self.key(parent_id))]):
                raise Conflict(f"There is a {self.target.singular} already.")
            rows = self.target.insert(new)
        return respond_row(self.target, rows[0])

    @declare(
        "update",
        WRITE,
        "PUT /",
        body="{}Partial",
        answer="{}",
        requires="patchAttributes",
        has_preconditions=True,
    )
    def put(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Change some properties of the row that belongs to the parent."""
        scope = self.scope(grant, id, "patchAttributes")
        return self.update(self._changed_child(id, scope).id, scope)

    @declare(
        "destroy",
        WRITE,
        "DELETE /",
        errors=DELETION_ERRORS,
        requires="deleteById",
        has_preconditions=True,
    )
    def delete(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete the row that belongs to the parent."""
        scope = self.scope(grant, id, "deleteById")
        row_id, check = self._changed_child(id, scope).id, read_check(self.target)
        self.target.delete_one(row_id, scope, check)
        return NO_CONTENT

    def _only_child(self, scope: Conditions) -> Any:
        """Return the row within a scope; raise RelationEmpty."""
        rows = self.target.rows.find(scope, self.target.parse({"limit": 1})).rows
        if not rows:
            raise RelationEmpty(self.name, self.target.singular)
        return rows[0]

    def _changed_child(self, parent_id: str, scope: Conditions) -> Any:
        """Return the row within a scope.

        Raises the access error for one that the caller may read, else RelationEmpty.
        """
        try:
            return self._only_child(scope)
        except RelationEmpty:
            belonging = self.belonging(self.key(self.parent.parse_id(parent_id)))
            readable = self._only_child([belonging, *self.target.readable])
            raise denial(self.relation.target, readable.id) from None


class ToManyViews(Related):
    """The endpoints that all relations to many rows have."""

    @declare(
        "get",
        READ,
        "GET /",
        query="filter",
        answer="[{}WithRelations]",
        has_pages=True,
        requires="find",
    )
    def find(self, grant: Grant, id: str) -> ResponseReturnValue:
        """List the rows that belong to the parent."""
        key = self.key(self.parent_id(grant, id))
        permitted = self.permission("find")
        query, page = find_list(self.target, permitted, self.belonging, key)

        def scope() -> Conditions:
            return [self.belonging(key), *self.target.rows.scope(permitted)]

        return respond_page(self.target, page, scope, query.filter_, query.includes)

    @declare("count", READ, "GET /count", query="where", answer="Count", requires="count")
    def count(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Count the rows that belong to the parent."""
        conditions = self.scope(grant, id, "count")
        filter_ = self.target.parse({"where": read_parameter("where")})
        return jsonify({"count": self.target.rows.count(conditions, filter_)})

    @declare("findById", READ, "GET /<fk>", answer="{}", requires="findById")
    def find_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Show one row that belongs to the parent."""
        conditions = self.scope(grant, id, "findById")
        row_id = self.target.parse_id(fk)
        row = self.target.or_404(row_id, self.target.rows.get(row_id, conditions))
        return respond_row(self.target, row)

    @declare(
        "updateById",
        WRITE,
        "PUT /<fk>",
        body="{}Partial",
        answer="{}",
        requires="patchAttributes",
        has_preconditions=True,
    )
    def update_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Change some properties of one row that belongs to the parent."""
        conditions = self.scope(grant, id, "patchAttributes")
        return self.update(self.child_id(id, fk, conditions), conditions)

    @declare(
        "destroyById",
        WRITE,
        "DELETE /<fk>",
        errors=DELETION_ERRORS,
        requires="deleteById",
        has_preconditions=True,
    )
    def destroy_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Delete one row that belongs to the parent."""
        conditions = self.scope(grant, id, "deleteById")
        row_id, check = self.child_id(id, fk, conditions), read_check(self.target)
        self.target.delete_one(row_id, conditions, check)
        return NO_CONTENT


class HasManyViews(Related):
    """The endpoints that only hasMany relations have."""

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", requires="create")
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row that belongs to the parent."""
        parent_id = self.parent_id(grant, id)
        rows = self.target.insert(self.new_row(self.link_to(parent_id)))
        return respond_row(self.target, rows[0])

    @declare(
        "delete",
        WRITE,
        "DELETE /",
        errors=(*DELETION_ERRORS, TooManyRows(MAX_ROWS)),
        requires="deleteById",
    )
    def delete_all(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Delete all rows that belong to the parent and that the caller may delete."""
        self.target.delete(self.scope(grant, id, "deleteById"))
        return NO_CONTENT


class ThroughViews(Related):
    """The endpoints that only relations through another model have.

    Linking takes the permission of the relation and to read both rows: its answer, and what it
    changes, is about both. A row that the caller cannot read is as if it did not exist.
    """

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", requires="create")
    def post(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row and link it to the parent."""
        parent_id = self.parent_id(grant, id)
        new = self.new_row({})
        with transaction():
            rows = self.target.insert(new)
            self._insert(grant, parent_id, rows[0].id)
        return respond_row(self.target, rows[0])

    @declare(
        "link",
        WRITE,
        "PUT /rel/<fk>",
        errors=(ValidationError({"property": [BLANK]}), Conflict(OVERTAKEN)),
        requires="findById",
        reads_parent=True,
    )
    def link(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Link a row to the parent, unless it is linked already."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        with transaction():
            self.parent.rows.lock(parent_id)
            if not self._is_linked(parent_id, row_id):
                self._insert(grant, parent_id, row_id)
        return NO_CONTENT

    @declare(
        "unlink",
        WRITE,
        "DELETE /rel/<fk>",
        errors=DELETION_ERRORS,
        requires="findById",
        reads_parent=True,
    )
    def unlink(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """End the link of a row to the parent; the row stays."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        count = self._delete(self._links(parent_id, row_id))
        if not is_compatible(current_app.config):
            self.target.or_404(row_id, count or None)
        return NO_CONTENT

    @declare(
        "delete",
        WRITE,
        "DELETE /",
        errors=(*DELETION_ERRORS, TooManyRows(MAX_ROWS)),
        requires="findById",
        reads_parent=True,
    )
    def unlink_all(self, grant: Grant, id: str) -> ResponseReturnValue:
        """End the links of the parent to all rows that the caller may read; the rows stay."""
        parent_id, rows = self._readable_parent(grant, id), self.target.rows
        readable = select(rows.key).where(*self.target_scope("findById"), *rows.restriction)
        link = self.relation.link
        linked_to = link(self.relation.target_key).in_(readable.correlate(None))
        self._delete([link(self.relation.foreign_key) == parent_id, linked_to])
        return NO_CONTENT

    @declare("exists", READ, "HEAD /rel/<fk>", requires="findById", reads_parent=True)
    def exists(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Tell by the status whether a row is linked to the parent."""
        parent_id, row_id = self._readable_ids(grant, id, fk)
        self.target.or_404(row_id, self._is_linked(parent_id, row_id) or None)
        return Response()

    def _readable_ids(self, grant: Grant, id: str, fk: str) -> tuple[Id, Id]:
        """Return the ids of the parent and of a row of the target, if the caller may read both."""
        parent_id = self._readable_parent(grant, id)
        row_id, readable = self.target.parse_id(fk), self.target_scope("findById")
        self.target.or_404(row_id, self.target.rows.get(row_id, readable))
        return parent_id, row_id

    def _readable_parent(self, grant: Grant, id: str) -> Id:
        """Return the id of the parent, if the caller may read it."""
        parent_id = self.parent.authorize_id(grant, id)
        conditions = self.parent.rows.scope(grant)
        if not self.target.resource.ruled_by_parent:
            conditions = [*conditions, *self.parent.scope("findById")]
        self.parent.or_404(parent_id, self.parent.rows.get(parent_id, conditions))
        return parent_id

    def _links(self, parent_id: Id, row_id: Id) -> Conditions:
        link = self.relation.link
        return [
            link(self.relation.foreign_key) == parent_id,
            link(self.relation.target_key) == row_id,
        ]

    def _is_linked(self, parent_id: Id, row_id: Id) -> bool:
        with connection() as database:
            return bool(database.scalar(select(exists().where(*self._links(parent_id, row_id)))))

    @property
    def _link_collection(self) -> Collection | None:
        """The collection of the model between both, if that is served."""
        served = served_collections.current.values()
        return next(
            (collection for collection in served if collection.model is self.relation.through), None
        )

    def _delete(self, links: Conditions) -> int:
        if model := self._link_collection:
            return model.delete(links)
        with connection() as database:
            return database.execute(delete(self.relation.links).where(*links)).rowcount

    def _insert(self, grant: Grant, parent_id: Id, row_id: Id) -> None:
        """Store a link; as a row of its model, if that is served, which becomes the caller's."""
        keys = {self.relation.foreign_key: parent_id, self.relation.target_key: row_id}
        new = self.relation.new_link_id()
        if model := self._link_collection:
            body = {model.id_name: new["id"]} if new and model.resource.id_on_create else {}
            model.create(body, grant.user_id, keys)
            return
        keys |= new
        values = {self.relation.link(name): value for name, value in keys.items()}
        with connection() as database:
            database.execute(insert(self.relation.links).values(values))


# The classes of views of each kind of relation; the others are only included.
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
    """Return the endpoints of relations as they are declared, which cannot be called."""
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
    return replace(
        endpoint,
        method=f"__{endpoint.method}__{name}",
        routes=tuple(route.below(f"/<id>/{name}") for route in endpoint.routes),
        subject=relation.target or None,
        answers=tuple(sorted(set(relation.types.values()))),
        finds_row=True,
    )
