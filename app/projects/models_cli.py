"""The commands `flask models`: check, list and show the models in JSON."""

from collections.abc import Iterable, Iterator

import click
from flask import current_app

from app.access.rules import Rule
from app.commands import CommandGroup, json_option, print_rows
from app.definitions.definition import Definition
from app.definitions.reading import Models, json_models
from app.definitions.related_models import USERS
from app.rest.collection import served_collections
from app.rest.endpoint import Endpoint, served_endpoints, switched_off
from app.rest.fields.base import Field
from app.rest.views.collection import declared_endpoints

models = CommandGroup("models", help="Check, list and show models in JSON.")


@models.command()
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are warnings.")
def check(strict: bool) -> None:
    """Check the files of all models; a problem in one stops the command with an error.

    Warnings are logged.
    """
    # The app has logged each warning when it read the files, to standard error.
    found = json_models.current
    for line in _switched_off(found):
        click.echo(line)
    count = len(found.problems.warnings)
    verdict = "usable, with warnings" if count else "all in order"
    click.echo(f"Checked {len(found.all)} models: {verdict}.")
    if strict and count:
        raise click.exceptions.Exit(1)


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all models."""
    rows = [
        (model.name, model.file, f"/{model.path}", model.table, model.is_public)
        for model in json_models.current.all.values()
    ]
    print_rows(("name", "file", "path", "table", "public"), rows, as_json)


@models.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the properties, relations and endpoints of the model NAME."""
    found = {model.lower(): definition for model, definition in json_models.current.all.items()}
    definition = found.get(name.lower())
    if definition is None:
        known = ", ".join(model.name for model in found.values()) or "none"
        raise click.ClickException(f"There is no model {name}; there are {known}.")
    describe = _describe_remote if definition.name in json_models.current.remote else _describe
    for line in describe(definition):
        click.echo(line)


def _switched_off(found: Models) -> Iterator[str]:
    """Yield, for each model of which not everything is served, what is not."""
    names = {model.plural: model.name for model in found.all.values()}
    if found.users:
        names[USERS] = found.users.name
    for model in (*found.all.values(), *([found.users] if found.users else ())):
        if not model.is_public:
            yield f"{model.name} has no endpoints of its own: it is not public."
    for resource, methods in switched_off.current.items():
        if methods:
            yield f"{names.get(resource, resource)}: switched off are {', '.join(methods)}."


def _describe(definition: Definition) -> Iterator[str]:
    """Yield a model, its properties, relations, endpoints and rules in lines of text."""
    collection = served_collections.current[definition.plural]
    resource, off = collection.resource, switched_off.current[definition.plural]
    yield f"{definition.name}\t{definition.file}\ttable {definition.table}"
    for name, field in collection.schema.fields.items():
        yield "\t".join(["  property", field.data_key or name, *_describe_field(field)])
    for name, relation in resource.relations.items():
        yield f"  relation\t{name}\t{relation.kind}\t{relation.target}"
    if resource.is_public:
        endpoints = declared_endpoints(resource)
        served = (endpoint for endpoint in endpoints if endpoint.method not in off)
        yield from _describe_endpoints(definition, served)
    yield from (f"  switched off\t{method}" for method in off)
    yield from map(_describe_rule, resource.rules(current_app.config))


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
    return f"  rule\t{allowed}\t{rule.principal}\t{rule.access}\t{methods}"


def _describe_endpoints(definition: Definition, endpoints: Iterable[Endpoint]) -> Iterator[str]:
    root = f"{current_app.config['REST_API_ROOT']}/{definition.path}"
    for endpoint in endpoints:
        for verb, path in endpoint.routes:
            yield f"  endpoint\t{endpoint.method}\t{verb} {root}{path}"


def _describe_remote(definition: Definition) -> Iterator[str]:
    """Yield a model at a data source, and its endpoints, in lines of text."""
    yield f"{definition.name}\t{definition.file}\tdata source {definition.data_source}"
    for property_ in definition.properties.values():
        yield f"  property\t{property_.name}\t{property_.type.name}"
    endpoints = served_endpoints.current.items()
    prefix = f"{definition.plural}."
    served = [endpoint for name, endpoint in endpoints if name.startswith(prefix)]
    yield from _describe_endpoints(definition, served)
