"""The command `ostiary loopback todo`: the stubs in a project's Python that are left."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from app.commands import json_option, print_rows
from app.problems import ConfigurationError, describe_error
from app.projects.folder import enter_project, project_folder

# The module with the decorators of stubs, and the kind of stub that each marks.
MODULE = "ostiary.loopback"
DECORATORS = {
    "method_stub": "method",
    "hook_stub": "hook",
    "role_stub": "role",
    "route_stub": "route",
}
# Folders of a project without its own code.
SKIPPED = ("migrations", "tests", "node_modules", "build")
COLUMNS = ("place", "kind", "name", "routes")


class Stub(NamedTuple):
    """A function that must be written."""

    place: str
    kind: str
    name: str
    routes: str


@click.command("todo")
@json_option
def todo(as_json: bool) -> None:
    """List what is still to be written: methods, hooks, roles and routes of the application."""
    enter_project()
    found = list(find_stubs(project_folder()))
    if found or as_json:
        print_rows(COLUMNS, found, as_json)
    if not as_json:
        click.echo(_count(found))


def _count(found: list[Stub]) -> str:
    if not found:
        return "Nothing is left to be written: there is no stub."
    counts = Counter(stub.kind for stub in found)
    parts = (f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in counts.items())
    return f"To be written: {', '.join(parts)}."


def find_stubs(folder: Path) -> Iterator[Stub]:
    """Yield the stubs in a project's Python, by file and line.

    Raises ConfigurationError for a file that cannot be read.
    """
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        if any(part in SKIPPED or part.startswith(".") for part in place.parts):
            continue
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except (OSError, ValueError, SyntaxError) as error:
            raise ConfigurationError(f"{place} cannot be read: {describe_error(error)}") from None
        yield from _stubs_of(tree, place.as_posix())


def _stubs_of(tree: ast.Module, file: str) -> Iterator[Stub]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Call) and (kind := _kind(decorator.func, names)):
                name, *routes = [*map(_text, decorator.args)] or ["?"]
                yield Stub(f"{file}:{decorator.lineno}", kind, name, ", ".join(routes))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of the decorators in a file, each with the kind of stub that it marks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == MODULE:
            for alias in node.names:
                if alias.name in DECORATORS:
                    yield alias.asname or alias.name, DECORATORS[alias.name]


def _kind(function: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(function, ast.Attribute):
        return DECORATORS.get(function.attr)
    return names.get(function.id) if isinstance(function, ast.Name) else None


def _text(argument: ast.expr) -> str:
    return str(argument.value) if isinstance(argument, ast.Constant) else ast.unparse(argument)
