"""The commands `ostiary models`, which check, list and show models, and `ostiary upgrade`."""

from collections.abc import Iterable, Iterator

import click
from flask import current_app
from flask.cli import with_appcontext

from app.access.rules import Rule, UserPrincipal
from app.commands import CommandGroup, json_option, print_rows
from app.definitions.definition import Definition
from app.definitions.reading import json_models
from app.definitions.related_models import USERS
from app.definitions.served import Model, find_models
from app.definitions.setup import report
from app.fields.base import Field
from app.openapi import undescribed
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint, served_endpoints, switched_off
from app.rest.views.collection import declared_endpoints

from .rules import check_permissions, check_roles

# The commands that `ostiary upgrade` calls.
UPGRADE = (["models", "check"], ["db", "upgrade"])
models = CommandGroup("models", help="Check, list and show models.")


@models.command()
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are warnings.")
def check(strict: bool) -> None:
    """Check the files of all models; a problem ends the command with an error.

    Warnings are logged.
    """
    # The app has logged each warning to standard error when it read the files.
    problems = json_models.current.problems
    found = find_models()
    unknown = list(check_roles(current_app))
    for problem in undescribed(current_app):
        problems.warn("OpenAPI document", problem)
    report(current_app, problems)
    own = [model for model in found if model.file]
    resources = [(model.name, model.resource) for model in own if model.resource != USERS]
    permissions = check_permissions(current_app, resources)
    for line in (*_moved_users(), *_not_served(found), *permissions, *unknown):
        click.echo(line)
    verdict = "usable, with warnings" if problems.warnings else "all in order"
    click.echo(f"Checked {len(own)} models: {verdict}.")
    if strict and problems.warnings:
        raise click.exceptions.Exit(1)


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all models, including the service's own."""
    names = ("name", "file", "path", "table", "public")
    rows = [
        (model.name, model.file, f"/{model.path}", model.table, model.is_public)
        for model in find_models()
    ]
    print_rows(names, rows, as_json)


@models.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the properties, relations and endpoints of the model NAME."""
    found = find_models()
    for model in found:
        names = {model.name, model.path, *([model.collection.name] if model.collection else [])}
        if name.lower() in map(str.lower, names):
            break
    else:
        known = ", ".join(model.name for model in found)
        raise click.ClickException(f"There is no model {name}; there are {known}.")
    for line in _describe(model):
        click.echo(line)


@click.command()
@with_appcontext
@click.pass_context
def upgrade(ctx: click.Context) -> None:
    """Check the project with this release, then migrate.

    If the project does not work with it, the command fails and does not change the database.
    """
    for arguments in UPGRADE:
        current_app.cli.main(arguments, standalone_mode=False, obj=ctx.obj)


def _moved_users() -> Iterator[str]:
    """Yield where users are served, if a model that extends User gives them another path."""
    declared, path = json_models.current.users, current_app.config["USERS_PATH"]
    if declared and path != USERS:
        root = current_app.config["REST_API_ROOT"]
        yield (
            f"{declared.name} extends User: all calls of users, such as login, are below"
            f" {root}/{path}, and {root}/{USERS} is not served."
        )


def _not_served(found: Iterable[Model]) -> Iterator[str]:
    """Yield, for each model that is not completely served, what is missing."""
    for model in found:
        if model.file and not model.is_public:
            yield f"{model.name} has no endpoints of its own: it is not public."
    names = {model.collection.name: model.name for model in found if model.collection}
    for resource, methods in switched_off.current.items():
        if methods:
            yield f"{names.get(resource, resource)}: switched off are {', '.join(methods)}."


def _describe(model: Model) -> Iterator[str]:
    """Yield a model's properties, relations, endpoints and rules as lines of text."""
    if model.remote:
        yield from _describe_remote(model.remote)
    if model.collection is None:
        return
    resource, off = model.collection.resource, switched_off.current[model.collection.name]
    yield f"{model.name}\t{model.file or '-'}\ttable {model.table}"
    yield from _describe_properties(model.collection)
    if resource.is_public:
        endpoints = declared_endpoints(resource)
        served = (endpoint for endpoint in endpoints if endpoint.method not in off)
        yield from _describe_endpoints(model.path, served)
    yield from (f"  switched off\t{method}" for method in off)
    yield from map(_describe_rule, resource.all_rules(current_app.config))


def _describe_properties(collection: Collection) -> Iterator[str]:
    for name, field in collection.schema.fields.items():
        yield "\t".join(["  property", field.data_key or name, *_describe_field(field)])
    for name, relation in collection.resource.relations.items():
        targets = ", ".join(dict.fromkeys(relation.types.values())) or relation.target
        yield f"  relation\t{name}\t{relation.kind}\t{targets}"


def _describe_field(field: Field) -> Iterator[str]:
    yield type(field).__name__.removesuffix("Field")
    if field.required:
        yield "required"
    if field.dump_only:
        yield "read-only"
    elif field.load_only:
        yield "hidden"


def _describe_rule(rule: Rule) -> str:
    allowed = "ALLOW" if rule.allow else "DENY"
    methods = ", ".join(sorted(rule.properties))
    principal = rule.principal
    if isinstance(principal, UserPrincipal):
        principal = f"user {principal.id}"
    return f"  rule\t{allowed}\t{principal}\t{rule.access}\t{methods}"


def _describe_endpoints(path: str, endpoints: Iterable[Endpoint]) -> Iterator[str]:
    root = f"{current_app.config['REST_API_ROOT']}/{path}"
    for endpoint in endpoints:
        for verb, route in endpoint.routes:
            yield f"  endpoint\t{endpoint.method}\t{verb} {root}{route}"


def _describe_remote(definition: Definition) -> Iterator[str]:
    """Yield the endpoints of a model at a data source, or without rows, as lines of text."""
    is_plain = definition.name in json_models.current.plain
    place = "no rows" if is_plain else f"data source {definition.data_source}"
    yield f"{definition.name}\t{definition.file}\t{place}"
    for property_ in definition.properties.values():
        yield f"  property\t{property_.name}\t{property_.type.name}"
    endpoints = served_endpoints.current.items()
    prefix = f"{definition.plural}."
    served = [endpoint for name, endpoint in endpoints if name.startswith(prefix)]
    yield from _describe_endpoints(definition.path, served)
