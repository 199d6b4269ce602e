"""Serve the models of MODELS_FOLDER."""

from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask

from app.rest.collection import register_resource
from app.rest.problems import Problems
from app.rest.resource import Resource

from .bases import PERSISTED, merge
from .catalog import Catalog
from .definition import Definition, read_definition
from .files import read_models
from .relations import Relations
from .resources import extend, make_relation, make_resource
from .tables import Tables


@dataclass
class Models:
    """What was read from the folder, for the commands."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)


def init_app(app: Flask, users: Resource) -> None:
    """Read the models of the folder, make their tables, and serve them.

    Models in Python must be registered before, those that `users` become after. Raises one
    ConfigurationError with all problems; warnings are logged.
    """
    models = Models()
    app.extensions["json_models"] = models
    folder = Path(app.instance_path, app.config["MODELS_FOLDER"])
    _read(folder, models)
    models.problems.raise_any("the models")
    known = [users, *app.extensions.get("resources", {}).values()]
    _serve(app, models, Catalog(models.definitions, known, None))
    for warning in models.problems.warnings:
        app.logger.warning("models: %s", warning)


def _read(folder: Path, models: Models) -> None:
    """Read the files; collect the models that have rows."""
    problems = models.problems
    sources = read_models(folder, problems)
    for source in sources.values():
        merged = merge(source, sources, problems)
        if merged.root in PERSISTED:
            definition = read_definition(merged, problems)
            models.definitions[definition.name] = definition
        else:
            problems.warn(
                f"{source.file}: base", f"is not served: models of {merged.root} have no rows"
            )


def _serve(app: Flask, models: Models, catalog: Catalog) -> None:
    """Make the tables and the resources of all models, and register them."""
    problems, definitions = models.problems, models.definitions
    reader = Relations(catalog, problems)
    links = {name: reader.read(each) for name, each in definitions.items()}
    owners = {name: reader.owner_of(each, links[name]) for name, each in definitions.items()}
    problems.raise_any("the models")
    tables = Tables(app, catalog)
    classes = {name: tables.make_model(each, owners[name]) for name, each in definitions.items()}
    through = classes | {
        name: tables.make_link_model(each) for name, each in reader.link_tables.items()
    }
    for name, definition in definitions.items():
        resource = make_resource(
            definition,
            classes[name],
            {key: make_relation(link, through) for key, link in links[name].items()},
            [make_relation(each, through) for each in reader.to_check(definition, links[name])],
            owners[name],
            problems,
        )
        extend(definition.source, resource)
        register_resource(app, resource)
    problems.raise_any("the models")
