"""The endpoints of hasMany relations: `/users/7/todos`."""

from dataclasses import replace

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.access.policy import Grant, authorize
from app.access.rules import READ, WRITE

from .bodies import read_body
from .endpoint import NO_CONTENT, Endpoint, declare, endpoints_of
from .ids import row_id
from .parameters import read_parameter
from .repository import Conditions
from .resource import Relation, Resource, resource_named
from .serialization import respond_page, respond_row


class RelationViews:
    """The views of one relation; the rules of both the parent and the target apply."""

    def __init__(self, parent: Resource, relation: Relation) -> None:
        self.parent = parent
        self.foreign_key = relation.foreign_key
        self.target_name = relation.target

    @property
    def target(self) -> Resource:
        """The resource whose rows these are."""
        return resource_named(self.target_name)

    @declare("get", READ, "GET /", query="filter", answer="[{}WithRelations]", requires="find")
    def find(self, grant: Grant, id: str) -> ResponseReturnValue:
        """List the rows that belong to the parent."""
        conditions = self._rows(grant, id, "find")
        filter_ = self.target.parse(read_parameter("filter"))
        return respond_page(self.target, self.target.rows.find(conditions, filter_), filter_)

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", requires="create")
    def create(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Create a row that belongs to the parent."""
        parent_id = self._parent_id(grant, id)
        own = self.target.owned_by(authorize(self.target_name, "create").user_id)
        rows = self.target.create(read_body(), {**own, self.foreign_key: parent_id})
        return respond_row(self.target, rows[0])

    @declare("count", READ, "GET /count", query="where", answer="Count", requires="count")
    def count(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Count the rows that belong to the parent."""
        conditions = self._rows(grant, id, "count")
        filter_ = self.target.parse({"where": read_parameter("where")})
        return jsonify({"count": self.target.rows.count([*conditions, *filter_.conditions])})

    @declare("findById", READ, "GET /<fk>", answer="{}", requires="findById")
    def find_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Show one row that belongs to the parent."""
        conditions = self._rows(grant, id, "findById")
        number = row_id(self.target.singular, fk)
        row = self.target.or_404(number, self.target.rows.get(number, conditions))
        return respond_row(self.target, row)

    @declare(
        "updateById", WRITE, "PUT /<fk>", body="{}Partial", answer="{}", requires="patchAttributes"
    )
    def update_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Change some properties of one row that belongs to the parent."""
        conditions = self._rows(grant, id, "patchAttributes")
        number = self._child_id(id, fk)
        row = self.target.update_one(number, conditions, read_body(), partial=True)
        return respond_row(self.target, row)

    @declare("destroyById", WRITE, "DELETE /<fk>", requires="deleteById")
    def destroy_by_id(self, grant: Grant, id: str, fk: str) -> ResponseReturnValue:
        """Delete one row that belongs to the parent."""
        conditions = self._rows(grant, id, "deleteById")
        self.target.delete_one(self._child_id(id, fk), conditions)
        return NO_CONTENT

    def _parent_id(self, grant: Grant, text: str) -> int:
        """Return the id of a parent that the caller's permission covers; raise ModelNotFound."""
        parent_id = self.parent.authorize_id(grant, text)
        # The caller exists, as the token proves; whether other rows do must be asked.
        if not (self.parent.is_owner_model and parent_id == grant.user_id):
            self.parent.read(grant, parent_id)
        return parent_id

    def _child_id(self, parent_id: str, text: str) -> int:
        """Return the id of a row that belongs to the parent; raise ModelNotFound.

        Without this check a row of another parent would be a 403 to callers who may read it.
        """
        number = row_id(self.target.singular, text)
        belongs = self.target.rows.column(self.foreign_key) == int(parent_id)
        self.target.or_404(number, self.target.rows.get(number, [belongs]))
        return number

    def _rows(self, grant: Grant, text: str, target_method: str) -> Conditions:
        """Return the conditions for the parent's rows on which the target's method is allowed."""
        parent_id = self._parent_id(grant, text)
        scope = authorize(self.target_name, target_method).scope(self.target.rows.owner)
        return [self.target.rows.column(self.foreign_key) == parent_id, *scope]


def relation_endpoints(parent: Resource) -> list[Endpoint]:
    """Return the endpoints of a resource's hasMany relations."""
    return [
        replace(
            endpoint,
            method=f"__{endpoint.method}__{name}",
            routes=tuple(route.below(f"/<id>/{name}") for route in endpoint.routes),
            subject=relation.target,
            finds_row=True,
        )
        for name, relation in parent.relations.items()
        if relation.many
        for endpoint in endpoints_of(RelationViews(parent, relation))
    ]
