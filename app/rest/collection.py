"""The endpoints that every collection has: load, authorize, call, dump."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from flask import Blueprint, Flask, jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement
from werkzeug.exceptions import Conflict

from app.access.policy import Grant, authorize, install_rules
from app.access.rules import READ, WRITE
from app.errors import InvalidFilter

from .bodies import read_body, read_items
from .filters import Filter
from .ids import row_id
from .parameters import read_parameter
from .relations import relation_endpoints
from .resource import Resource, Values
from .serialization import answer_page, render


class Endpoints:
    """The views of one resource."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource

    def create(self) -> ResponseReturnValue:
        """Create one row, or all rows of an array or none."""
        own = self.resource.owned_by(self._authorize("create").user_id)
        body = read_items()
        objects = render(self.resource, self.resource.create(body, own))
        return jsonify(objects if isinstance(body, list) else objects[0])

    def find(self) -> ResponseReturnValue:
        """List the rows that a filter wants."""
        scope = self._scope("find")
        wanted = self.resource.parse(read_parameter("filter"))
        return answer_page(self.resource, self.resource.find(scope, wanted), wanted)

    def find_one(self) -> ResponseReturnValue:
        """Show the first row that a filter wants."""
        scope = self._scope("findOne")
        wanted = self.resource.parse({**(read_parameter("filter") or {}), "limit": 1})
        rows = self.resource.find(scope, wanted).rows
        self.resource.found("undefined", rows[0] if rows else None)
        return self._one(rows[0], wanted)

    def count(self) -> ResponseReturnValue:
        """Count the rows that a `where` wants."""
        scope = self._scope("count")
        wanted = self.resource.parse({"where": read_parameter("where")})
        return jsonify({"count": self.resource.count([*scope, *wanted.conditions])})

    def find_by_id(self, id: str) -> ResponseReturnValue:
        """Show one row."""
        number, grant = self.resource.reach("findById", id)
        row = self.resource.read(number, grant)
        wanted = self.resource.parse(read_parameter("filter")) if request.args else None
        return self._one(row, wanted)

    def exists(self, id: str) -> ResponseReturnValue:
        """Tell whether there is such a row."""
        number, scope = self._reach("exists", id)
        return jsonify({"exists": self.resource.count([self.resource.key == number, *scope]) == 1})

    def patch_attributes(self, id: str) -> ResponseReturnValue:
        """Change some properties of a row."""
        number, scope = self._reach("patchAttributes", id)
        return self._one(self.resource.change(number, scope, read_body(), partial=True))

    def replace_by_id(self, id: str) -> ResponseReturnValue:
        """Replace a row; properties that are not sent go back to their default."""
        number, scope = self._reach("replaceById", id)
        return self._one(self.resource.change(number, scope, read_body(), partial=False))

    def delete_by_id(self, id: str) -> ResponseReturnValue:
        """Delete a row."""
        number, scope = self._reach("deleteById", id)
        count = self.resource.delete([self.resource.key == number, *scope])
        self.resource.found(id, count or None)
        return jsonify({"count": count})

    def patch_or_create(self) -> ResponseReturnValue:
        """Change the row whose id the body has; create one when it has none."""
        return self._upsert("patchOrCreate", partial=True)

    def replace_or_create(self) -> ResponseReturnValue:
        """Replace the row whose id the body has; create one when it has none."""
        return self._upsert("replaceOrCreate", partial=False)

    def upsert_with_where(self) -> ResponseReturnValue:
        """Change the one row that a `where` wants; create one when there is none."""
        scope = [*self._scope("upsertWithWhere"), *self._required_where()]
        body = read_body()
        rows, more = self.resource.find(scope, self.resource.parse({"limit": 1}))
        if not rows:
            return self._create(body)
        if more:
            raise Conflict("Several rows fulfil the where; upsertWithWhere changes only one.")
        return self._one(self.resource.change(rows[0].id, scope, body, partial=True))

    def update_all(self) -> ResponseReturnValue:
        """Change every row that a `where` wants."""
        conditions = [*self._scope("updateAll"), *self._required_where()]
        values = self.resource.shape.load(read_body(), partial=True)
        if not values:
            return jsonify({"count": self.resource.count(conditions)})
        return jsonify({"count": self.resource.update_all(conditions, values)})

    def _authorize(self, method: str) -> Grant:
        return authorize(self.resource.name, method)

    def _scope(self, method: str) -> list[ColumnElement[bool]]:
        return self._authorize(method).scope(self.resource.owner_column)

    def _reach(self, method: str, text: str) -> tuple[int, list[ColumnElement[bool]]]:
        """Return the id in the path, and the conditions under which its row is within reach."""
        number, grant = self.resource.reach(method, text)
        return number, grant.scope(self.resource.owner_column)

    def _one(self, row: Any, wanted: Filter | None = None) -> ResponseReturnValue:
        return jsonify(render(self.resource, [row], wanted)[0])

    def _create(self, body: Values) -> ResponseReturnValue:
        """Create the row of an upsert, which takes the permission to create one."""
        own = self.resource.owned_by(self._authorize("create").user_id)
        return self._one(self.resource.create(body, own)[0])

    def _upsert(self, method: str, partial: bool) -> ResponseReturnValue:
        grant = self._authorize(method)
        body = read_body()
        if body.get("id") is None:
            return self._create({name: value for name, value in body.items() if name != "id"})
        number = row_id(self.resource.singular, str(body["id"]))
        scope = grant.scope(self.resource.owner_column)
        return self._one(self.resource.change(number, scope, body, partial))

    def _required_where(self) -> list[ColumnElement[bool]]:
        where = read_parameter("where")
        if where is None:
            raise InvalidFilter("where is missing: it must say which rows are meant.")
        return self.resource.parse({"where": where}).conditions


class Route(NamedTuple):
    """One way to call a method: verb and path below the collection."""

    verb: str
    path: str
    method: str
    access: str
    view: Callable[..., ResponseReturnValue]


# In the reference's names. A path's fixed segments beat its <id>.
ROUTES = (
    Route("POST", "", "create", WRITE, Endpoints.create),
    Route("GET", "", "find", READ, Endpoints.find),
    Route("PATCH", "", "patchOrCreate", WRITE, Endpoints.patch_or_create),
    Route("PUT", "", "replaceOrCreate", WRITE, Endpoints.replace_or_create),
    Route("POST", "/replaceOrCreate", "replaceOrCreate", WRITE, Endpoints.replace_or_create),
    Route("POST", "/upsertWithWhere", "upsertWithWhere", WRITE, Endpoints.upsert_with_where),
    Route("GET", "/findOne", "findOne", READ, Endpoints.find_one),
    Route("GET", "/count", "count", READ, Endpoints.count),
    Route("POST", "/update", "updateAll", WRITE, Endpoints.update_all),
    Route("GET", "/<id>", "findById", READ, Endpoints.find_by_id),
    Route("GET", "/<id>/exists", "exists", READ, Endpoints.exists),
    Route("PATCH", "/<id>", "patchAttributes", WRITE, Endpoints.patch_attributes),
    Route("PUT", "/<id>", "replaceById", WRITE, Endpoints.replace_by_id),
    Route("POST", "/<id>/replace", "replaceById", WRITE, Endpoints.replace_by_id),
    Route("DELETE", "/<id>", "deleteById", WRITE, Endpoints.delete_by_id),
)


def collection(resource: Resource) -> Blueprint:
    """Return the blueprint with a resource's endpoints, and those of its relations."""
    bp = Blueprint(resource.name, __name__)
    views = {route.method: partial(route.view, Endpoints(resource)) for route in ROUTES}
    for route in ROUTES:
        bp.add_url_rule(route.path, route.method, views[route.method], methods=[route.verb])
    for relation in relation_endpoints(resource):
        relation.add_to(bp)
    return bp


def serve(app: Flask, resource: Resource, bp: Blueprint) -> None:
    """Put a resource's endpoints under the base path, with its rules in force."""
    app.extensions.setdefault("resources", {})[resource.name] = resource
    methods = {route.method: route.access for route in ROUTES}
    for relation in relation_endpoints(resource):
        methods |= relation.methods
    install_rules(app, resource.name, {**methods, **resource.methods}, resource.rules(app.config))
    app.register_blueprint(bp, url_prefix=f"{app.config['REST_API_ROOT']}/{resource.name}")
