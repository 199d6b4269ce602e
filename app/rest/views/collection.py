"""The endpoints of every collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from flask import current_app, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import Conflict

from app.access.policy import CREATE, Grant, authorize, denial
from app.access.rules import READ, WRITE
from app.errors import InvalidFilter, ModelNotFound, TooManyRows
from app.ids import Id
from app.rest.aggregates.answer import find_aggregate
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, declare, declared_by, endpoints_of
from app.rest.relations import Relation
from app.rest.requests.bodies import Body, read_array, read_body, read_items
from app.rest.requests.parameters import is_given, parse_parameter, read_parameter
from app.rest.resource import Resource
from app.rest.rows.values import Conditions, Row
from app.rest.rows.writer import MAX_ROWS
from app.rest.writing import create_rows, update_all
from app.settings import is_compatible

from .changes import change_endpoints
from .lists import find_list, read_list, respond_page
from .own_endpoints import bind_own, describe_own
from .relations import declared_relation_endpoints, relation_endpoints
from .representations import (
    check_new,
    respond_created,
    respond_row,
    respond_selected,
)
from .rows import RowViews

AGGREGATE, CREATE_MANY = "aggregate", "createMany"
# Methods that LoopBack 3's models do not have: an application may have another one.
REPLACEABLE = (AGGREGATE, CREATE_MANY)
# Methods of new rows, which have no owner.
CREATING = (CREATE, CREATE_MANY)
# The methods of `PUT`, each with the method of `PATCH` for the same path.
PUT_METHODS = {"replaceById": "patchAttributes", "replaceOrCreate": "patchOrCreate"}


class CollectionViews(RowViews):
    """The views of a collection whose rows are in the database."""

    @declare(
        CREATE,
        WRITE,
        "POST /",
        body="New{}",
        answer="{}",
        summary="Create one {row}",
        description="An array creates all of its {row}s, or none, as in LoopBack 3.",
    )
    def create(self, grant: Grant) -> ResponseReturnValue:
        """Create one row, or all rows of an array or none."""
        return self._create_rows(grant, read_items())

    @declare(
        CREATE_MANY,
        WRITE,
        "POST /many",
        body="[New{}]",
        answer="[{}]",
        ruled_by=CREATE,
        summary="Create all {row}s of an array, or none",
    )
    def create_many(self, grant: Grant) -> ResponseReturnValue:
        """Create all rows of an array, or none."""
        return self._create_rows(grant, read_array())

    def _create_rows(self, grant: Grant, body: Body | list[object]) -> ResponseReturnValue:
        required = self.rows.written_scope(grant) if grant.by_row else ()
        rows = create_rows(self.collection, body, grant.user_id, required=required)
        return respond_created(self.collection, rows, body)

    @declare(
        "find",
        READ,
        "GET /",
        query="filter",
        answer="[{}WithRelations]",
        has_pages=True,
        summary="List the {row}s that a filter selects",
    )
    def find(self, grant: Grant) -> ResponseReturnValue:
        """List the rows that a filter selects."""
        query, page = find_list(self.collection, grant)
        count = partial(query.count, grant)
        return respond_page(self.collection, page, count, query.filter_, query.includes)

    @declare(
        *(AGGREGATE, READ, "GET /aggregate"),
        query="filter",
        query_form="aggregate",
        answer="[Aggregated]",
        narrowed_by="find",
        summary=(
            "Compute counts, sums and other functions of the {row}s that a where selects, by group"
        ),
    )
    def aggregate(self, grant: Grant) -> ResponseReturnValue:
        """Compute counts, sums and other functions of the rows that a `where` selects, by group."""
        aggregated = find_aggregate(
            self.collection, self.rows.scope(grant), read_parameter("filter")
        )
        return jsonify(aggregated)

    @declare(
        "patchOrCreate",
        WRITE,
        "PATCH /",
        body="{}Upsert",
        answer="{}",
        finds_row=True,
        may_create=True,
        has_preconditions=True,
        summary="Change the {row} whose id the body has; create one if it has none",
    )
    def patch_or_create(self, grant: Grant) -> ResponseReturnValue:
        """Change the row whose id the body has; create one if it has none."""
        return self._upsert(grant, partial=True)

    @declare(
        "replaceOrCreate",
        WRITE,
        "PUT /",
        "POST /replaceOrCreate",
        body="{}Upsert",
        answer="{}",
        finds_row=True,
        may_create=True,
        has_preconditions=True,
        summary="Replace the {row} whose id the body has; create one if it has none",
    )
    def replace_or_create(self, grant: Grant) -> ResponseReturnValue:
        """Replace the row whose id the body has; create one if it has none."""
        return self._upsert(grant, partial=False)

    @declare(
        "upsertWithWhere",
        WRITE,
        "POST /upsertWithWhere",
        query="where!",
        body="{}Partial | New{}",
        answer="{}",
        finds_row=True,
        may_create=True,
        has_preconditions=True,
        summary="Change the one {row} that a where selects; create one if there is none",
    )
    def upsert_with_where(self, grant: Grant) -> ResponseReturnValue:
        """Change the one row that a `where` selects; create one if there is none."""
        scope = self.collection.write_scope(grant, *self._required_where())
        body = read_body()
        page = self.rows.find(scope.conditions, self.collection.parse({"limit": 1}))
        if not page.rows:
            return self._create(grant, body)
        if page.more:
            raise Conflict("Several rows fulfil the where; upsertWithWhere changes only one.")
        return self._update_one(page.rows[0].id, scope, body, partial=True)

    @declare(
        "updateAll",
        WRITE,
        "POST /update",
        query="where!",
        body="{}Partial",
        answer="Count",
        errors=(TooManyRows(MAX_ROWS),),
        summary="Change every {row} that a where selects",
    )
    def update_all(self, grant: Grant) -> ResponseReturnValue:
        """Change every row that a `where` selects."""
        scope = self.collection.write_scope(grant, *self._required_where())
        values = self.collection.load(self.collection.schema, read_body(), partial=True)
        if not values:
            return jsonify({"count": self.rows.count(scope.conditions)})
        return jsonify({"count": update_all(self.collection, scope, values)})

    # Must precede findById, whose GET would answer HEAD too.
    @declare(
        "exists",
        READ,
        "GET /<id>/exists",
        "HEAD /<id>",
        answer="Exists",
        finds_row=True,
        summary="Return True if the {row} exists; answer a HEAD request by the status",
    )
    def exists(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Return True if the row exists; answer a HEAD request by the status."""
        if request.method == "HEAD":
            return self.respond_to_head(grant, id)
        try:
            row_id = self.collection.authorize_id(grant, id)
        except ModelNotFound:
            # As in LoopBack 3 for an invalid id.
            if not is_compatible(current_app.config):
                raise
            return jsonify({"exists": False})
        count = self.rows.count([self.rows.key == row_id, *self.rows.scope(grant)])
        return jsonify({"exists": count == 1})

    @declare(
        "findById",
        READ,
        "GET /<id>",
        query="filter",
        answer="{}WithRelations",
        finds_row=True,
        summary="Show one {row}",
    )
    def find_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show one row."""
        return self.show(self.collection.read(grant, self.collection.authorize_id(grant, id)))

    def show(self, row: Row) -> ResponseReturnValue:
        """Return the response with one row, as the query selects."""
        if not (is_given("filter") or self.collection.resource.default_filter):
            return respond_row(self.collection, row)
        query = read_list(self.collection)
        return respond_selected(self.collection, row, query.filter_, query.includes)

    def count_rows(self, grant: Grant) -> int:
        """Return the number of rows that the request's `where` selects, by a kept statement."""
        return read_list(self.collection, parameter="where").count(grant)

    def _create(self, grant: Grant, body: Body) -> ResponseReturnValue:
        """Create the row of an upsert, if the caller may create one."""
        creation = authorize(self.collection.name, CREATE)
        # A row that does not exist has no owner.
        if not grant.covers(None):
            raise denial(self.collection.name)
        check_new()
        required = [*self.rows.written_scope(creation), *grant.written_scope(None)]
        rows = create_rows(self.collection, body, grant.user_id, required=required)
        return respond_row(self.collection, rows[0])

    def _upsert(self, grant: Grant, partial: bool) -> ResponseReturnValue:
        body, key = read_body(), self.collection.id_name
        if body.get(key) is None:
            new = {name: value for name, value in body.items() if name != key}
            return self._create(grant, new)
        row_id = self.collection.id_form.parse(str(body[key]))
        if self.collection.resource.id_on_create and not self._exists(row_id):
            return self._create(grant, body)
        if row_id is None:
            raise ModelNotFound(self.collection.singular, body[key])
        scope = self.collection.write_scope(grant)
        return self._update_one(row_id, scope, {**body, key: row_id}, partial)

    def _exists(self, row_id: Id | None) -> bool:
        return row_id is not None and bool(self.rows.existing([row_id], []))

    def _required_where(self) -> Conditions:
        # From the query only: the header of that name is for reads.
        where = parse_parameter("where", request.args)
        if where is None:
            raise InvalidFilter("where is missing: it must say which rows are meant.")
        return self.rows.conditions(self.collection.parse({"where": where}))


def all_endpoints(
    collection: Collection, views: type[RowViews] = CollectionViews
) -> list[Endpoint]:
    """Return the endpoints of a collection: its relations' and its own, too."""
    usual = [*endpoints_of(views(collection)), *relation_endpoints(collection)]
    own = [bind_own(collection, endpoint) for endpoint in collection.resource.own_endpoints]
    own += _added(collection.resource, collection)
    own += change_endpoints(collection.resource, collection)
    return [*own, *_describe(collection.resource, _without_replaced(usual, own))]


def declared_endpoints(resource: Resource) -> list[Endpoint]:
    """Return the endpoints of a resource as declared; they cannot be called."""
    own = [describe_own(resource, endpoint) for endpoint in resource.own_endpoints]
    own += [*_added(resource, None), *change_endpoints(resource, None)]
    usual = usual_endpoints(resource.relations)
    return [*own, *_describe(resource, _without_replaced(usual, own))]


def _added(resource: Resource, collection: Collection | None) -> Iterator[Endpoint]:
    """Yield the endpoints added to a resource, for the collection that serves it."""
    for endpoint in resource.added_endpoints(collection):
        yield describe_own(resource, endpoint)


def usual_endpoints(relations: Mapping[str, Relation]) -> list[Endpoint]:
    """Return the endpoints of every resource with these relations; they cannot be called."""
    return [*declared_by(CollectionViews).values(), *declared_relation_endpoints(relations)]


def _without_replaced(usual: Iterable[Endpoint], own: Sequence[Endpoint]) -> Iterator[Endpoint]:
    """Yield the usual endpoints, but for those of REPLACEABLE that an application has itself.

    Its own may be older. Relations to the rows need the rules of the method.
    """
    methods = {endpoint.method for endpoint in own}
    routes = {route for endpoint in own for route in endpoint.routes}
    for endpoint in usual:
        if endpoint.method not in REPLACEABLE:
            yield endpoint
        elif endpoint.method not in methods:
            is_taken = not routes.isdisjoint(endpoint.routes)
            yield endpoint.replace(is_served=lambda _: False) if is_taken else endpoint


def _describe(resource: Resource, endpoints: Iterable[Endpoint]) -> Iterator[Endpoint]:
    """Yield endpoints with the settings of the resource."""
    for endpoint in endpoints:
        served = endpoint if resource.replaces_on_put else with_changing_put(endpoint)
        if endpoint.method == CREATE_MANY and resource.holds_users:
            # Each registration is a request of its own.
            served = served.replace(is_served=lambda _: False)
        yield served.replace(
            owned=resource.owner is not None and endpoint.method not in CREATING,
            by_row=True,
            atomic=True,
            errors=(*endpoint.errors, *resource.errors.get(endpoint.method, ())),
        )


def with_changing_put(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint with its routes if `PUT` behaves like `PATCH`."""
    routes = endpoint.routes
    if endpoint.method in PUT_METHODS:
        routes = tuple(route for route in routes if route.verb != "PUT")
    elif endpoint.method in PUT_METHODS.values():
        routes = (*routes, *(route._replace(verb="PUT") for route in routes))
    return endpoint.replace(routes=routes)
