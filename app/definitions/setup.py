"""Serve the models of MODELS_FOLDER."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from flask import Flask

from app.access.policy import principal_types
from app.database.metadata import type_foreign_keys
from app.errors import InvalidFilter
from app.problems import ConfigurationError, Problems
from app.properties.properties import embedded_models
from app.rest.collection import (
    Collection,
    declared_resources,
    replaced_by_others,
    served_collections,
)
from app.rest.endpoint import Endpoints, register_endpoints
from app.rest.resource import Resource
from app.rest.rows.computed import RelatedValue
from app.rest.served_relations import target_of, with_added_relations
from app.rest.shared_methods import switch_off
from app.rest.views.includes import parse_includes
from app.rest.views.own_endpoints import bind_own
from app.rest.views.registration import register_resource
from app.settings import PARENT
from app.users.resource import declared_users, further_users, users
from app.users.sessions.transports import token_reader

from .checks import (
    check,
    check_names,
    free_resources,
    reserved_names,
    shipped_names,
    takes_place,
)
from .computed_values import ComputedProperties
from .definition import Definition
from .embedded import embed, find_visibilities
from .modules import INIT_APP, reporting
from .reading import Models, json_models, read_folder
from .related_models import RelatedModels
from .relations import Relations, ResolvedRelations
from .resources import Tables, make_detached_model, make_resource, with_switches
from .role_endpoints import register_endpoints_of_roles, resource_names
from .roles import RESOURCES
from .rules import applicable_rules
from .users import declare_users, make_further_users, make_users, settings_of_users

SUBJECT = "the models"


def read_models(app: Flask) -> None:
    """Read the models of the folder; they may replace a sample model.

    Raises ConfigurationError if there is no such folder.
    """
    folder = Path(os.path.abspath(Path(app.instance_path, app.config["MODELS_FOLDER"])))
    # Path.is_dir may raise an error, for example if the service may not access the folder.
    if not os.path.isdir(folder):
        raise ConfigurationError(f"MODELS_FOLDER cannot be used: there is no folder {folder}")
    models = read_folder(app, folder)
    json_models.set(app, models)
    types = principal_types.of(app)
    types |= {each.plural: each.name for each in models.further_users.values()}
    if models.further_users:
        token_reader.of(app).read_types()
    replaced_by_others.set(app, partial(takes_place, models))


def init_app(app: Flask) -> None:
    """Create the tables of the models that were read, and serve them.

    Models in Python must be registered before, and users after. Raises ConfigurationError with all
    problems of the files; warnings are logged.
    """
    models = json_models.of(app)
    sources = app.config["DATA_SOURCES"]
    public = [name for name in sources if _is_public(sources[name])]
    reserved = reserved_names(resource_names(models.public_roles), public, app.config)
    _serve_python(app, models, reserved)
    served = _served(app)
    check_names(models, served, reserved, app.config)
    usual = with_added_relations(app, users)
    python = [*RESOURCES.values(), usual, *served]
    _embed(app, models, python)
    related_models = RelatedModels(
        models.definitions, python, models.users, models.further_users.values()
    )
    relations = Relations(related_models, models.stored, models.required)
    with app.app_context():
        resolved = relations.resolve()
        resources = {resource.name: resource for resource in python}
        computed = _resolve_computed(
            models, ComputedProperties(related_models, resources), resolved
        )
        check(models, resolved, usual)
        if models.problems.found:
            report(app, models.problems)
        tables = Tables(app, related_models)
        for name, definition in models.definitions.items():
            tables.map_model(definition, resolved[name].owner)
        for link_table in relations.many_to_many.link_tables.values():
            tables.map_link_table(link_table)
        type_foreign_keys(app)
        for name in sorted(targets_of(resolved) & RESOURCES.keys()):
            register_resource(app, RESOURCES[name])
        _serve(app, models, resolved, computed)
        _check_scopes(models, resolved)
        _serve_plain(app, models)
        register_endpoints_of_roles(app, models.public_roles)
    report(app, models.problems)


def _embed(app: Flask, models: Models, resources: Iterable[Resource]) -> None:
    """Set what clients see of objects in rows of models, and in those of users."""
    known = find_visibilities(models.embeddable, resources)
    embedded_models.set(app, known)
    for definition in models.with_users:
        embed(definition, known)


def report(app: Flask, problems: Problems) -> None:
    """Log new warnings; raise ConfigurationError if there are problems."""
    for warning in problems.new_warnings():
        app.logger.warning("model %s", warning)
    if problems.found:
        raise ConfigurationError(problems.describe(SUBJECT))


def _served(app: Flask) -> list[Resource]:
    return [collection.resource for collection in served_collections.of(app).values()]


def _serve_python(app: Flask, models: Models, reserved: Mapping[str, str]) -> None:
    """Register the models in Python."""
    for module in models.modules.values():
        with reporting(models.problems):
            module.call(INIT_APP, app)
    shipped = shipped_names(models, _served(app), app.config)
    for resource, file in free_resources(models, {**shipped, **reserved}).items():
        try:
            register_resource(app, resource)
        except ConfigurationError as error:
            models.problems.add(file, str(error))


def _is_public(data_source: object) -> bool:
    return isinstance(data_source, Mapping) and bool(data_source.get("public"))


def targets_of(resolved: Mapping[str, ResolvedRelations]) -> set[str]:
    """Return the resources that relations lead to."""
    return {relation.target for model in resolved.values() for relation in model.relations.values()}


def _resolve_computed(
    models: Models, properties: ComputedProperties, resolved: Mapping[str, ResolvedRelations]
) -> dict[str, dict[str, RelatedValue]]:
    """Return the computed properties of each model."""
    return {
        name: properties.resolve(definition, resolved[name].relations)
        for name, definition in models.definitions.items()
    }


def _serve(
    app: Flask,
    models: Models,
    resolved: Mapping[str, ResolvedRelations],
    computed: Mapping[str, Mapping[str, RelatedValue]],
) -> None:
    """Register the resources of all models, and configure users."""
    ruled_by_parent = app.config["RELATION_PERMISSIONS"] == PARENT
    declared = declared_resources.of(app)
    for name, definition in models.definitions.items():
        definition.changes = definition.changes or definition.plural in app.config["CHANGES"]
        declared[definition.plural] = make_resource(
            definition, definition.model, resolved[name], ruled_by_parent, computed[name]
        )
    _make_users(app, models, resolved)
    for definition in models.definitions.values():
        resource = declared[definition.plural]
        models.extend(definition.source, resource)
        try:
            register_resource(app, with_switches(resource, definition))
        except ConfigurationError as error:
            definition.source.declared.add(str(error))
    _declare_users(app, models)
    if models.problems.found:
        return
    collections = served_collections.of(app)
    for definition in models.definitions.values():
        _check_default_includes(collections[definition.plural], definition)


def _make_users(app: Flask, models: Models, resolved: Mapping[str, ResolvedRelations]) -> None:
    """Make the resources of the models of users."""
    first, further = models.users, models.further_users.values()
    if first is None:
        return
    declared = declared_resources.of(app)
    # Before the settings of the first model become those of the app.
    settings = {each.name: settings_of_users(app, each) for each in models.of_users}
    own = resolved[first.name]
    declared[users.name] = make_users(app, first, own, settings[first.name], further)
    for definition in further:
        name = definition.name
        declared[definition.plural] = make_further_users(
            app, definition, resolved[name], settings[name]
        )


def _declare_users(app: Flask, models: Models) -> None:
    """Set the models of users, which are served after everything else that extends them."""
    declared, first = declared_resources.of(app), models.users
    if first is not None:
        models.extend(first.source, declared[users.name])
        declared_users.set(app, declare_users(first, declared[users.name]))
    for definition in models.further_users.values():
        resource = declared[definition.plural]
        models.extend(definition.source, resource)
        further_users.of(app).append(declare_users(definition, resource))


def _check_scopes(models: Models, resolved: Mapping[str, ResolvedRelations]) -> None:
    """Report scopes of relations that are not valid filters for their targets."""
    for definition in models.stored:
        for name, relation in resolved[definition.name].relations.items():
            if relation.scope and relation.target in served_collections.current:
                try:
                    target_of(relation)
                except InvalidFilter as error:
                    definition.relations[name]["scope"].add(str(error.description))


def _check_default_includes(collection: Collection, definition: Definition) -> None:
    """Remove includes from default filters that are not possible."""
    try:
        parse_includes(collection, collection.parse(None))
    except InvalidFilter as error:
        included = definition.at("scope")["include"]
        included.report_unknown(str(error.description), "is ignored")
        definition.scope.pop("include")


def _serve_plain(app: Flask, models: Models) -> None:
    """Serve models without rows, such as those of Model, which only have endpoints of their own.

    The Python code beside them declares these.
    """
    for definition in models.plain.values():
        resource = _plain_resource(definition)
        models.extend(definition.source, resource)
        if definition.is_public:
            try:
                _register_plain(app, definition, resource)
            except ConfigurationError as error:
                definition.source.declared.add(str(error))


def _plain_resource(definition: Definition) -> Resource:
    related = ResolvedRelations({}, (), None)
    return make_resource(definition, make_detached_model(definition), related)


def _register_plain(app: Flask, definition: Definition, resource: Resource) -> None:
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
