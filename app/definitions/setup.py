"""Serve the models of MODELS_FOLDER."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Flask

from app.errors import InvalidFilter
from app.extensions import db
from app.rest.collection import register_resource
from app.rest.includes import parse_includes
from app.rest.problems import Problems
from app.rest.resource import Resource
from app.users.resource import users

from .bases import PERSISTED, PLAIN, USER, Merged, merge
from .catalog import Catalog
from .definition import Definition, read_definition
from .files import CONFIG, Source, read_model_config, read_models
from .relations import Link, Relations
from .resources import extend, make_relation, make_resource
from .tables import Tables
from .users import configure_users, define_users

SUBJECT = "the models in JSON"
# What other parts of the service are called.
RESERVED = ("openapi", "explorer", "health", "status", "confirmation", "user_pages")


@dataclass
class Models:
    """What was read from the folder, for the commands."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    # Those whose rows are at a REST data source.
    remote: dict[str, Definition] = field(default_factory=dict)
    # What the model with the base User says.
    users: Definition | None = None
    problems: Problems = field(default_factory=Problems)

    @property
    def all(self) -> dict[str, Definition]:
        """All models but users, by name."""
        return {**self.definitions, **self.remote}


def init_app(app: Flask) -> None:
    """Read the models of the folder, make their tables, and serve them.

    Models in Python must be registered before, and users after. Raises one ConfigurationError with
    all problems; warnings are logged.
    """
    models = Models()
    app.extensions["json_models"] = models
    folder = Path(app.instance_path, app.config["MODELS_FOLDER"])
    _read(folder, models, app.config["DATA_SOURCES"])
    served: Iterable[Resource] = app.extensions.get("resources", {}).values()
    _check_names(models, served)
    catalog = Catalog(models.definitions, [users, *served], models.users)
    reader = Relations(catalog, models.problems)
    known = [*models.definitions.values(), *([models.users] if models.users else [])]
    links = {each.name: reader.read(each) for each in known}
    owners = {each.name: reader.owner_of(each, links[each.name]) for each in known}
    models.problems.raise_any(SUBJECT)
    _serve(app, models, catalog, reader, links, owners)
    models.problems.raise_any(SUBJECT)
    for warning in models.problems.warnings:
        app.logger.warning("model %s", warning)


def _read(folder: Path, models: Models, data_sources: Container[str]) -> None:
    """Read the files; collect the models that have rows, and the one that users are."""
    problems = models.problems
    sources = read_models(folder, problems)
    config = read_model_config(folder, problems)
    candidates: list[Merged] = []
    for source in sources.values():
        merged = merge(source, sources, problems)
        entry = _entry(source, config, problems)
        if entry is None:
            problems.warn(source.file, f"is not served: {CONFIG} does not have {source.name}")
        elif merged.root in (*PERSISTED, PLAIN) and str(entry.get("dataSource")) in data_sources:
            models.remote[source.name] = _read_one(merged, entry, problems)
        elif merged.root in PERSISTED:
            models.definitions[source.name] = _read_one(merged, entry, problems)
        elif merged.root == USER:
            candidates.append(merged)
        else:
            path = f"{source.file}: base"
            problems.warn(path, f"is not served: models of {merged.root} have no rows here")
    _choose_users(candidates, models)


def _read_one(merged: Merged, entry: Mapping[str, Any], problems: Problems) -> Definition:
    definition = read_definition(merged, problems)
    definition.is_public = entry.get("public") is not False
    definition.data_source = str(entry.get("dataSource") or "")
    return definition


def _choose_users(candidates: list[Merged], models: Models) -> None:
    """Let users be the model that extends User, rather than one that others extend."""
    bases = {each.source.declared.get("base") for each in candidates}
    candidates = sorted(candidates, key=lambda each: each.source.name in {USER, *bases})
    for merged in candidates:
        if models.users is None:
            models.users = define_users(merged, models.problems)
        else:
            models.problems.warn(
                f"{merged.source.file}: base", f"is not served: users are {models.users.name}"
            )


def _entry(
    source: Source, config: Mapping[str, Any] | None, problems: Problems
) -> Mapping[str, Any] | None:
    """Return what `model-config.json` says of a model; None: it is only a base of others."""
    if config is None:
        return {}
    entry = config.get(source.name)
    if entry is None or isinstance(entry, Mapping):
        return entry
    problems.add(f"{CONFIG}: {source.name}", "must be an object")
    return {}


def _check_names(models: Models, served: Iterable[Resource]) -> None:
    """Report names, paths and tables that two models have."""
    taken = dict.fromkeys(RESERVED, "Ostiary")
    taken |= {each.name.lower(): each.name for each in [users, *served]}
    tables = dict.fromkeys(db.metadata.tables, "Ostiary")
    for each in models.all.values():
        for place, key in (("plural", each.plural), ("http.path", each.path)):
            if taken.setdefault(key.lower(), each.name) != each.name:
                other = taken[key.lower()]
                models.problems.add(f"{each.file}: {place}", f"{key} is that of {other} already")
        if each.name in models.remote:
            continue
        if tables.setdefault(each.table, each.name) != each.name:
            models.problems.add(
                f"{each.file}: name", f"{tables[each.table]} has a table {each.table} already"
            )


def _serve(
    app: Flask,
    models: Models,
    catalog: Catalog,
    reader: Relations,
    links: Mapping[str, Mapping[str, Link]],
    owners: Mapping[str, str | None],
) -> None:
    """Make the tables and the resources of all models, and register them."""
    tables = Tables(app, catalog)
    classes = {
        name: tables.make_model(each, owners[name]) for name, each in models.definitions.items()
    }
    through = classes | {
        name: tables.make_link_model(each) for name, each in reader.link_tables.items()
    }
    relations = {
        name: {key: make_relation(link, through) for key, link in each.items()}
        for name, each in links.items()
    }
    for name, definition in models.definitions.items():
        checked = reader.to_check(definition, links[name])
        resource = make_resource(
            definition,
            classes[name],
            relations[name],
            [make_relation(each, through) for each in checked],
            owners[name],
            models.problems,
        )
        extend(definition.source, resource)
        register_resource(app, resource)
    with app.app_context():
        for definition in models.definitions.values():
            _check_scope(app, definition, models.problems)
    if models.users is not None:
        configure_users(app, models.users, relations[models.users.name], models.problems)


def _check_scope(app: Flask, definition: Definition, problems: Problems) -> None:
    """Report a default filter that the model cannot have."""
    resource: Resource = app.extensions["resources"][definition.plural]
    try:
        where = {"where": definition.scope.get("where")}
        parse_includes(resource, resource.parse(where))
    except InvalidFilter as error:
        problems.add(f"{definition.file}: scope", str(error.description))
