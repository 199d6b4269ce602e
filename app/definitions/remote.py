"""Models in JSON whose data source, in `model-config.json`, is a REST data source."""

from collections.abc import Sequence
from dataclasses import replace

from flask import Flask

from app.access.rules import Rule
from app.datasources import data_sources
from app.datasources.remote import register_remote_resource
from app.problems import ConfigurationError
from app.rest.endpoint import Endpoint
from app.rest.resource import Resource

from .checks import check_owner_may_change
from .definition import Definition
from .keys import belongs_to
from .reading import Models, json_models
from .related_models import USERS
from .relations import ResolvedRelations
from .resources import make_detached_model, make_resource
from .rules import applicable_rules, owner_property
from .setup import report


def init_app(app: Flask) -> None:
    """Serve the models; requires that data sources and all other models are already registered."""
    models = json_models.of(app)
    for definition in models.remote.values():
        if definition.is_public:
            try:
                _serve(app, definition, models)
            except ConfigurationError as error:
                definition.source.declared.add(str(error))
    report(app, models.problems)


def _serve(app: Flask, definition: Definition, models: Models) -> None:
    """Serve a model; raise ConfigurationError if that is not possible."""

    def rules(endpoints: Sequence[Endpoint]) -> Sequence[Rule]:
        methods = {endpoint.method: endpoint.owned for endpoint in endpoints}
        return applicable_rules(definition, methods)

    resource = _make_resource(definition, models)
    models.extend(definition.source, resource)
    source, path = data_sources.of(app)[definition.data_source], definition.remote_path
    register_remote_resource(app, resource, source, path, rules, definition.switches.usable)


def _make_resource(definition: Definition, models: Models) -> Resource:
    """Return the resource of a model: without relations, and with ids set by the service."""
    owner = _owner_column(definition, models)
    check_owner_may_change(definition, owner)
    related = ResolvedRelations({}, (), owner)
    resource = make_resource(definition, make_detached_model(definition), related)
    return replace(resource, withheld=definition.hidden, default_filter={}, id_on_create=False)


def _owner_column(definition: Definition, models: Models) -> str | None:
    """Return the column of a row's owner, if one is declared."""
    names = {USERS, "user", *([models.users.name.lower()] if models.users else [])}
    keys = {
        relation.name: relation.key
        for relation in belongs_to(definition.relations)
        if str(relation.model).lower() in names
    }
    owner = owner_property(definition, keys)
    known = {*definition.properties, definition.id.name}
    return definition.column_of(owner) if owner in known else None
