"""Models in JSON whose data source, in `model-config.json`, is a file store."""

from flask import Flask

from app.problems import ConfigurationError
from app.rest.endpoint import Endpoints, register_endpoints
from app.rest.shared_methods import switch_off
from app.storage.setup import OpenStore, stores

from .definition import Definition
from .reading import json_models
from .rules import applicable_rules
from .setup import report


def init_app(app: Flask) -> None:
    """Serve the models; requires that stores and all other models are already registered."""
    models = json_models.of(app)
    for definition in models.containers.values():
        if definition.is_public:
            try:
                _serve(app, definition, stores.of(app)[definition.data_source])
            except ConfigurationError as error:
                definition.source.declared.add(str(error))
    report(app, models.problems)


def _serve(app: Flask, definition: Definition, store: OpenStore) -> None:
    """Serve a model; raise ConfigurationError if that is not possible."""
    endpoints = store.endpoints()
    switches = definition.switches.usable(endpoints)
    endpoints = switch_off(endpoints, app.config["SHARED_METHODS"], switches)
    rules = applicable_rules(definition, {endpoint.method: False for endpoint in endpoints})
    register_endpoints(app, Endpoints(definition.plural, endpoints, rules, path=definition.path))
