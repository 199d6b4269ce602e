"""The commands `flask models`: check, list and show the models in JSON."""

from collections.abc import Iterator

import click
from flask import current_app

from app.commands import CommandGroup, json_option, print_rows
from app.rest.collection import served_collections
from app.rest.endpoint import served_endpoints, switched_off
from app.rest.views.collection import declared_endpoints

from .definition import Definition
from .reading import Models, json_models
from .related_models import USERS

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
        (each.name, each.file, f"/{each.path}", each.table, each.is_public)
        for each in json_models.current.all.values()
    ]
    print_rows(("name", "file", "path", "table", "public"), rows, as_json)


@models.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the properties, relations and endpoints of the model NAME."""
    found = {each.lower(): definition for each, definition in json_models.current.all.items()}
    if name.lower() not in found:
        known = ", ".join(each.name for each in found.values()) or "none"
        raise click.ClickException(f"There is no model {name}; there are {known}.")
    definition = found[name.lower()]
    describe = _describe_remote if definition.name in json_models.current.remote else _describe
    for line in describe(definition):
        click.echo(line)


def _switched_off(found: Models) -> Iterator[str]:
    """Yield, for each model of which not everything is served, what is not."""
    names = {each.plural: each.name for each in found.all.values()}
    described = [*found.all.values()]
    if found.users:
        names[USERS] = found.users.name
        described.append(found.users)
    for each in described:
        if not each.is_public:
            yield f"{each.name} has no endpoints of its own: it is not public."
    for resource, methods in switched_off.current.items():
        if methods:
            yield f"{names.get(resource, resource)}: switched off are {', '.join(methods)}."


def _describe(definition: Definition) -> Iterator[str]:
    """Yield a model, its properties, relations, endpoints and rules in lines of text."""
    collection = served_collections.current[definition.plural]
    resource = collection.resource
    yield f"{definition.name}\t{definition.file}\ttable {definition.table}"
    for name, field in collection.schema.fields.items():
        words = [field.data_key or name, type(field).__name__]
        words += ["required"] if field.required else []
        words += ["read-only"] if field.dump_only else ["hidden"] if field.load_only else []
        yield "\t".join(["  property", *words])
    for name, relation in resource.relations.items():
        yield f"  relation\t{name}\t{relation.kind}\t{relation.target}"
    root = f"{current_app.config['REST_API_ROOT']}/{definition.path}"
    off = switched_off.current[definition.plural]
    for endpoint in declared_endpoints(resource) if resource.is_public else ():
        if endpoint.method not in off:
            for verb, path in endpoint.routes:
                yield f"  endpoint\t{endpoint.method}\t{verb} {root}{path}"
    yield from (f"  switched off\t{method}" for method in off)
    for rule in resource.rules(current_app.config):
        allowed = "ALLOW" if rule.allow else "DENY"
        methods = ", ".join(sorted(rule.properties))
        yield f"  rule\t{allowed}\t{rule.principal}\t{rule.access}\t{methods}"


def _describe_remote(definition: Definition) -> Iterator[str]:
    """Yield a model at a data source, and its endpoints, in lines of text."""
    yield f"{definition.name}\t{definition.file}\tdata source {definition.data_source}"
    yield from (
        f"  property\t{each.name}\t{each.type.name}" for each in definition.properties.values()
    )
    root = f"{current_app.config['REST_API_ROOT']}/{definition.path}"
    for name, endpoint in served_endpoints.current.items():
        if name.startswith(f"{definition.plural}."):
            for verb, path in endpoint.routes:
                yield f"  endpoint\t{endpoint.method}\t{verb} {root}{path}"
