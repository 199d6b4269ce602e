"""Models whose rows are at a data source: collections like others, behind the service's rules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue

from app.access.policy import Grant
from app.access.rules import READ, WRITE, Rule
from app.connector import BoundModel, ConfigError, DataSource
from app.connector.settings.options import PUBLIC_MAX_VALUES
from app.errors import ModelNotFound, RemoteError, RemoteTimeout, TooManyCalls
from app.problems import ConfigurationError
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, Endpoints, declare, register_endpoints
from app.rest.requests.bodies import read_body
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.shared_methods import switch_off
from app.rest.views.collection import all_endpoints
from app.rest.views.representations import respond_row
from app.rest.views.rows import RowViews
from app.rest.views.serialization import serialize
from app.rest.writing import create_rows

from .endpoints import function_endpoints
from .rows import RemoteRows, RemoteSerializer

ERRORS = (RemoteError(404), RemoteTimeout(), TooManyCalls())


class RemoteViews(RowViews):
    """The views of a collection whose rows are at a data source."""

    @declare("create", WRITE, "POST /", body="New{}", answer="{}", summary="Create a {row}")
    def create(self, grant: Grant) -> ResponseReturnValue:
        """Create a row."""
        [row] = create_rows(self.collection, read_body(), grant.user_id)
        return respond_row(self.collection, row)

    @declare(
        "find",
        READ,
        "GET /",
        query="filter",
        answer="[{}WithRelations]",
        summary="List the {row}s that a filter selects",
    )
    def find(self, grant: Grant) -> ResponseReturnValue:
        """List the rows that a filter selects."""
        filter_ = self.collection.parse(read_parameter("filter"))
        rows = self.rows.find(self.rows.scope(grant), filter_).rows
        return jsonify(serialize(self.collection, rows, filter_))

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
            self.collection.read(grant, self.collection.authorize_id(grant, id))
        except ModelNotFound:
            return jsonify({"exists": False})
        return jsonify({"exists": True})

    @declare("findById", READ, "GET /<id>", answer="{}", finds_row=True, summary="Show one {row}")
    def find_by_id(self, grant: Grant, id: str) -> ResponseReturnValue:
        """Show one row."""
        return self.show(self.collection.read(grant, self.collection.authorize_id(grant, id)))


def register_remote_resource(
    app: Flask,
    resource: Resource,
    source: DataSource,
    remote_path: str,
    rules: Callable[[Sequence[Endpoint]], Sequence[Rule]],
    shared_methods: Callable[[Sequence[Endpoint]], Mapping[str, bool]],
) -> None:
    """Serve the functions of a data source, and with a `baseURL` the rows at one of its paths.

    `rules` and `shared_methods` return, for the given endpoints, the rules and which methods are
    switched off and on. Raises ConfigurationError for dynamic roles, as their conditions are SQL.
    """
    if resource.roles:
        raise ConfigurationError(f"{resource.name}: rows at a data source have no dynamic roles")
    functions = {endpoint.method: endpoint for endpoint in function_endpoints(source)}
    endpoints = [*functions.values()]
    if remote := _bind(resource, source, remote_path):
        rows = partial(RemoteRows, schema=resource.schema, source=source.name, remote=remote)
        served = replace(resource, repository=rows, serializer=RemoteSerializer)
        collection = Collection(served, app.config)
        collection.add_to(app)
        endpoints += [
            endpoint.replace(errors=(*endpoint.errors, *ERRORS))
            for endpoint in all_endpoints(collection, RemoteViews)
            if endpoint.method not in functions
        ]
    endpoints = switch_off(endpoints, app.config["SHARED_METHODS"], shared_methods(endpoints))
    declared = Endpoints(resource.name, endpoints, rules(endpoints), path=resource.path)
    register_endpoints(app, declared)


def _bind(resource: Resource, source: DataSource, path: str) -> BoundModel | None:
    """Return the rows of a model in the connector; None if the data source has only functions."""
    id_name = next(name for name, column in resource.properties.items() if column.primary_key)
    try:
        return source.define(
            resource.singular, resource_name=path, id_name=id_name, max_values=PUBLIC_MAX_VALUES
        )
    except ConfigError:
        if not source.operations:
            raise ConfigurationError(
                f"{resource.name}: the data source {source.name} has neither a baseURL nor"
                " functions"
            ) from None
        return None
