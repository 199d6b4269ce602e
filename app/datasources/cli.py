"""The commands `ostiary datasources`: check, list, show and call data sources."""

import json
from collections.abc import Iterator
from textwrap import indent

import click
from flask import current_app

from app.commands import CommandGroup, json_option, print_rows
from app.connector import ConnectorError, DataSource, Operation, Pages, Response, Variable, items_of

from . import data_sources
from .connectors import other_sources
from .endpoints import endpoint_path, endpoint_verb

# Keys that the lines of a function show already.
_SHOWN = frozenset({"method", "url", "variables"})
datasources = CommandGroup("datasources", help="Check, list, show and call data sources.")


def describe(source: DataSource, root: str) -> Iterator[str]:
    """Yield the effective settings of a data source, then its functions."""
    yield f"{source.name}\t{'public' if source.public else 'private'}"
    for name, value in source.effective_settings.items():
        yield f"  {name}\t{_to_text(value)}"
    for operation in source.operations.values():
        template = operation.template
        yield f"{operation.name}{operation.__signature__}\t{operation.method} {template['url']}"
        if source.public:
            path = f"{root}/{source.name}{endpoint_path(operation)}"
            yield f"  endpoint\t{endpoint_verb(operation)} {path}"
        yield from (f"  {line}" for line in _variables(operation))
        for name, value in template.items():
            if name not in _SHOWN:
                yield f"  {name}\t{_to_text(value)}"


def _variables(operation: Operation) -> Iterator[str]:
    places = {known["arg"]: known["http"]["source"] for known in operation.accepts}
    for variable in operation.variables.values():
        needed = "required" if variable.required else "optional"
        words = [variable.name, variable.type, needed, places.get(variable.name, "-")]
        yield "\t".join([*words, *_details(variable)])


def _details(variable: Variable) -> Iterator[str]:
    if variable.default is not None:
        yield f"default {'***' if variable.secret else _to_text(variable.default)}"
    if variable.enum:
        yield f"one of {'***' if variable.secret else _to_text(variable.enum)}"
    if variable.doc:
        yield variable.doc


def _to_text(value: object) -> str:
    return "-" if value in (None, {}, (), []) else json.dumps(value, ensure_ascii=False)


@datasources.command()
@click.option("--strict", is_flag=True, help="Exit with status 1 if there are warnings.")
def check(strict: bool) -> None:
    """Check the settings of all data sources; an invalid one ends the command with an error.

    Warnings are logged.
    """
    # The app has logged each warning to standard error when it created its data sources.
    sources = data_sources.current.values()
    warnings = sum(len(source.warnings) for source in sources) + len(other_sources.current)
    functions = sum(len(source.operations) for source in sources)
    found = "usable, with warnings" if warnings else "all in order"
    click.echo(f"Checked {len(sources)} data sources with {functions} functions: {found}.")
    if strict and warnings:
        raise click.exceptions.Exit(1)


@datasources.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all data sources."""
    rows = [
        (name, source.public, list(source.operations))
        for name, source in data_sources.current.items()
    ]
    print_rows(("name", "public", "functions"), rows, as_json)


@datasources.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the settings of the data source NAME, its functions and their parameters."""
    source = _find_source(name)
    for line in describe(source, current_app.config["REST_API_ROOT"]):
        click.echo(line)


@datasources.command()
@click.argument("name")
@click.argument("function")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--all", "all_pages", is_flag=True, help="Print the items of all pages as one list.")
@click.option("--dry-run", is_flag=True, help="Print the call as a curl line instead.")
def call(
    name: str, function: str, arguments: tuple[str, ...], all_pages: bool, dry_run: bool
) -> None:
    """Call FUNCTION of the data source NAME and print its result, or its first page."""
    operation = _find_function(_find_source(name), function)
    values = dict(_parse_argument(argument) for argument in arguments)
    try:
        if dry_run:
            click.echo(operation.prepare(**values).as_curl())
        elif all_pages:
            _print_items(operation.invoke_pages(values))
        else:
            _print_first_page(operation.invoke_pages(values))
    except ConnectorError as error:
        raise click.ClickException(str(error)) from None


def _print_first_page(pages: Pages) -> None:
    click.echo(_to_json(next(pages)))
    if pages.has_next:
        click.echo("This is the first page; there may be more: --all prints them.", err=True)


def _print_items(pages: Pages) -> None:
    """Print the items of each page as it arrives, so that they are not kept in memory."""
    count = 0
    for page in pages:
        for item in items_of(page):
            click.echo(",\n" if count else "[\n", nl=False)
            click.echo(indent(_to_json(item), "  "), nl=False)
            count += 1
        click.echo(f"Page {pages.count}: {count} items so far.", err=True)
    click.echo("\n]" if count else "[]")


def _to_json(result: object) -> str:
    if isinstance(result, Response):
        result = {"statusCode": result.status_code, "body": result.body}
    try:
        text = json.dumps(result, indent=2, ensure_ascii=False, default=repr)
    except RecursionError:
        raise click.ClickException("The result is nested too deeply to be printed.") from None
    return text.encode("utf-8", "backslashreplace").decode()


def _find_source(name: str) -> DataSource:
    sources = data_sources.current
    if name not in sources:
        known = ", ".join(sources) or "none"
        raise click.ClickException(f"There is no data source {name}; there are {known}.")
    return sources[name]


def _find_function(source: DataSource, name: str) -> Operation:
    if name not in source.operations:
        known = ", ".join(source.operations) or "none"
        raise click.ClickException(f"{source.name} has no function {name}; it has {known}.")
    return source.operations[name]


def _parse_argument(argument: str) -> tuple[str, str]:
    name, equals, value = argument.partition("=")
    if not equals:
        raise click.ClickException(f"{argument} must be KEY=VALUE.")
    return name, value
