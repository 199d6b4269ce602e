"""Serve the models of MODELS_FOLDER."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from app.config import ConfigurationError
from app.errors import InvalidFilter
from app.rest.collection import register_resource
from app.rest.includes import parse_includes
from app.rest.problems import Problems
from app.rest.resource import Resource
from app.users.resource import users

from .catalog import Catalog
from .definition import Definition
from .reading import Models, check_names, read_folder
from .relations import Relations, Resolved
from .resources import Related, extend, make_relation, make_resource, with_switches
from .tables import Tables
from .users import configure_users

SUBJECT = "the models in JSON"


def init_app(app: Flask) -> None:
    """Read the models of the folder, make their tables, and serve them.

    Models in Python must be registered before, and users after. Raises ConfigurationError if there
    is no such folder, and one with all problems of the files; warnings are logged.
    """
    folder = Path(app.instance_path, app.config["MODELS_FOLDER"])
    if not folder.is_dir():
        raise ConfigurationError(f"MODELS_FOLDER cannot be used: there is no folder {folder}")
    models = read_folder(folder, app.config["DATA_SOURCES"])
    app.extensions["json_models"] = models
    served: list[Resource] = list(app.extensions.get("resources", {}).values())
    check_names(models, served)
    catalog = Catalog(models.definitions, [users, *served], models.users)
    reader = Relations(catalog, models.problems)
    resolved = reader.resolve(models.stored)
    models.problems.raise_any(SUBJECT)
    tables = Tables(app, catalog)
    classes = {
        name: tables.make_model(each, resolved[name].owner)
        for name, each in models.definitions.items()
    }
    links = {name: tables.make_link_model(each) for name, each in reader.link_tables.items()}
    with app.app_context():
        _serve(app, models, classes, _relations(resolved, classes | links))
    models.problems.raise_any(SUBJECT)
    for warning in models.problems.warnings:
        app.logger.warning("model %s", warning)


def _relations(
    resolved: Mapping[str, Resolved], through: Mapping[str, type[Any]]
) -> dict[str, Related]:
    """Return the relations of each model; `through` are the models between both sides, by name."""
    return {
        name: Related(
            {key: make_relation(link, through) for key, link in each.links.items()},
            [make_relation(link, through) for link in each.to_check],
            each.owner,
        )
        for name, each in resolved.items()
    }


def _serve(
    app: Flask,
    models: Models,
    classes: Mapping[str, type[Any]],
    related: Mapping[str, Related],
) -> None:
    """Register the resources of all models, and set what users are."""
    problems, resources = models.problems, {}
    for name, definition in models.definitions.items():
        resource = make_resource(definition, classes[name], related[name], problems)
        extend(definition.source, resource)
        if _has_usable_scope(resource, definition, problems):
            resource = with_switches(resource, definition, problems)
            register_resource(app, resource)
            resources[name] = resource
    for name, resource in resources.items():
        _check_default_includes(resource, models.definitions[name], problems)
    if models.users is not None:
        configure_users(app, models.users, related[models.users.name], problems)


def _has_usable_scope(resource: Resource, definition: Definition, problems: Problems) -> bool:
    """Tell whether the model can have its default filter."""
    try:
        resource.parse(definition.scope)
    except InvalidFilter as error:
        problems.add(f"{definition.file}: scope", str(error.description))
        return False
    return True


def _check_default_includes(resource: Resource, definition: Definition, problems: Problems) -> None:
    """Leave out what a default filter includes and cannot."""
    try:
        parse_includes(resource, resource.parse(None))
    except InvalidFilter as error:
        problems.warn(f"{definition.file}: scope.include", f"is ignored: {error.description}")
        definition.scope.pop("include")
