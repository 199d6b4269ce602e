"""The endpoints of the rows that belong to a row: `/users/7/todos`."""

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement

from app.access.policy import Grant, authorize
from app.access.rules import READ, WRITE

from .bodies import read_body
from .ids import row_id
from .parameters import read_parameter
from .resource import Relation, Resource, resource_named
from .serialization import answer_page, render


class RelationEndpoints:
    """The views of one relation; each obeys the rules of the parent and those of the target."""

    def __init__(self, parent: Resource, name: str, relation: Relation) -> None:
        self.parent = parent
        self.name = name
        self.foreign_key = relation.foreign_key
        self.target_name = relation.target

    @property
    def target(self) -> Resource:
        """The resource whose rows these are."""
        return resource_named(self.target_name)

    @property
    def methods(self) -> dict[str, str]:
        """The parent's methods that this adds, in the reference's names, and their access types."""
        reads = {f"__{verb}__{self.name}": READ for verb in ("get", "findById", "count")}
        writes = ("create", "updateById", "destroyById")
        return {**reads, **{f"__{verb}__{self.name}": WRITE for verb in writes}}

    def add_to(self, bp: Blueprint) -> None:
        """Add the routes to the parent's blueprint."""
        many, one = f"/<id>/{self.name}", f"/<id>/{self.name}/<fk>"
        for verb, path, method, view in (
            ("GET", many, "get", self.find),
            ("POST", many, "create", self.create),
            ("GET", f"{many}/count", "count", self.count),
            ("GET", one, "findById", self.find_by_id),
            ("PUT", one, "updateById", self.update_by_id),
            ("DELETE", one, "destroyById", self.destroy_by_id),
        ):
            bp.add_url_rule(path, f"__{method}__{self.name}", view, methods=[verb])

    def find(self, id: str) -> ResponseReturnValue:
        """List the rows that belong to the parent."""
        conditions = self._rows(id, "get", "find")
        wanted = self.target.parse(read_parameter("filter"))
        return answer_page(self.target, self.target.find(conditions, wanted), wanted)

    def create(self, id: str) -> ResponseReturnValue:
        """Create a row that belongs to the parent."""
        parent_id, grant = self._reach(id, "create", "create")
        own = self.target.owned_by(grant.user_id)
        rows = self.target.create(read_body(), {**own, self.foreign_key: parent_id})
        return jsonify(render(self.target, rows)[0])

    def count(self, id: str) -> ResponseReturnValue:
        """Count the rows that belong to the parent."""
        conditions = self._rows(id, "count", "count")
        wanted = self.target.parse({"where": read_parameter("where")})
        return jsonify({"count": self.target.count([*conditions, *wanted.conditions])})

    def find_by_id(self, id: str, fk: str) -> ResponseReturnValue:
        """Show one row that belongs to the parent."""
        conditions = self._rows(id, "findById", "findById")
        row = self.target.get(row_id(self.target.singular, fk), conditions)
        return jsonify(render(self.target, [row])[0])

    def update_by_id(self, id: str, fk: str) -> ResponseReturnValue:
        """Change some properties of one row that belongs to the parent."""
        conditions = self._rows(id, "updateById", "patchAttributes")
        changed = self.target.change(
            row_id(self.target.singular, fk), conditions, read_body(), partial=True
        )
        return jsonify(render(self.target, [changed])[0])

    def destroy_by_id(self, id: str, fk: str) -> ResponseReturnValue:
        """Delete one row that belongs to the parent."""
        conditions = self._rows(id, "destroyById", "deleteById")
        number = row_id(self.target.singular, fk)
        self.target.found(fk, self.target.delete([self.target.key == number, *conditions]) or None)
        return "", 204

    def _reach(self, text: str, method: str, target_method: str) -> tuple[int, Grant]:
        """Return the parent's id, and what the caller may do with the target's rows."""
        parent = self.parent
        parent_id, grant = parent.reach(f"__{method}__{self.name}", text)
        # The caller exists, as the token tells; whether others do must be asked.
        if not parent.owns_itself or parent_id != grant.user_id:
            parent.get(parent_id, grant.scope(parent.owner_column))
        return parent_id, authorize(self.target_name, target_method)

    def _rows(self, text: str, method: str, target_method: str) -> list[ColumnElement[bool]]:
        """Return the conditions of the parent's rows that are within the caller's reach."""
        parent_id, grant = self._reach(text, method, target_method)
        belongs: ColumnElement[bool] = self.target.all_columns[self.foreign_key] == parent_id
        return [belongs, *grant.scope(self.target.owner_column)]


def relation_endpoints(resource: Resource) -> list[RelationEndpoints]:
    """Return the endpoints of a resource's relations, for those that are of many rows."""
    return [
        RelationEndpoints(resource, name, relation)
        for name, relation in resource.relations.items()
        if relation.many
    ]
