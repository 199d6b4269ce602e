"""Models in JSON without rows, such as those of Model: they only have endpoints of their own."""

from dataclasses import replace

from flask import Flask

from app.config import ConfigurationError
from app.rest.collection import Collection
from app.rest.endpoint import Endpoints, register_endpoints
from app.rest.resource import Resource
from app.rest.shared_methods import switch_off
from app.rest.views.own_endpoints import bind_own

from .definition import Definition
from .reading import Models
from .relations import ResolvedRelations
from .resources import make_detached_model, make_resource
from .rules import applicable_rules


def serve_plain(app: Flask, models: Models) -> None:
    """Serve the endpoints that the Python code beside these models declares."""
    for definition in models.plain.values():
        resource = _make_resource(definition)
        models.extend(definition.source, resource)
        if definition.is_public:
            try:
                _register(app, definition, resource)
            except ConfigurationError as error:
                definition.source.declared.add(str(error))


def _make_resource(definition: Definition) -> Resource:
    related = ResolvedRelations({}, (), None)
    return make_resource(definition, make_detached_model(definition), related)


def _register(app: Flask, definition: Definition, resource: Resource) -> None:
    """Serve the endpoints of a model; raise ConfigurationError if that is not possible."""
    if about_rows := [endpoint for endpoint in resource.own_endpoints if endpoint.finds_row]:
        raise ConfigurationError(
            f"{about_rows[0].method} has <id> in its path, and the model has no rows; set"
            " finds_row=False"
        )
    collection = Collection(replace(resource, default_filter={}), app.config)
    endpoints = [bind_own(collection, endpoint) for endpoint in resource.own_endpoints]
    rules = applicable_rules(definition, {endpoint.method: False for endpoint in endpoints})
    switches = definition.switches.usable(endpoints)
    served = switch_off(endpoints, app.config["SHARED_METHODS"], switches)
    register_endpoints(app, Endpoints(resource.name, served, rules, path=resource.path))
