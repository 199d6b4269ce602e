"""The command group `ostiary`: commands for projects, of their apps, of packages, and Flask's.

Packages add commands by entry points of the group `ostiary.commands`. The name of an entry point is
that of the command, and its object is a Click command or group. Entry points are read when all
commands are listed, and when one is looked up that the service lacks.
"""

from collections.abc import Set
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click
from flask import Flask
from flask.cli import FlaskGroup, ScriptInfo, routes_command, shell_command

from app.features import FEATURES, commands_of
from app.problems import ConfigurationError, describe_error
from app.projects.folder import enter_project

# Modules of commands that need no app, or not always, imported when called.
MODULES = {
    "client": "app.clients.cli",
    "dev": "app.commandline.dev",
    "new": "app.projects.new",
    "run": "app.commandline.run",
}
# Commands that need no project either, besides those of packages.
WITHOUT_PROJECT = {"client", "new"}
# The group of entry points of the commands of packages.
ENTRY_POINTS = "ostiary.commands"
# The distribution whose commands no other one replaces.
PRODUCT = "ostiary"


class ProjectGroup(FlaskGroup):
    """Commands for the project in the current folder; outside of one, those that need none."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(add_default_commands=False, add_version_option=False, **extra)
        # The app is the project's, and `dev` replaces Flask's `run`.
        self.params = [option for option in self.params if option.name not in {"app", "debug"}]
        self.add_command(routes_command)
        self.add_command(shell_command)
        # The names of commands that no package replaces.
        self.own_names = {*commands_of(FEATURES), *MODULES, *self.commands}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands available in this folder."""
        added = _added_names(self.own_names)
        try:
            _enter()
        except click.ClickException:
            return sorted(WITHOUT_PROJECT | added)
        try:
            ctx.ensure_object(ScriptInfo).load_app()
        except click.ClickException as error:
            error.show()
            return sorted(MODULES.keys() | added)
        return sorted({*MODULES, *added, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command; raise ClickException if it needs a project and there is none."""
        if name not in self.own_names and (added := _find_command(name)):
            return added
        if name not in WITHOUT_PROJECT:
            _enter()
        if name in MODULES:
            command: click.Command = getattr(import_module(MODULES[name]), name)
            return command
        return super().get_command(ctx, name)


def create_app() -> Flask:
    """Create the project's app, importing its code only now: not every command needs it."""
    _enter()
    try:
        app: Flask = import_module("app.factory").create_app()
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None
    return app


def _enter() -> None:
    try:
        enter_project()
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None


def _added_names(taken: Set[str]) -> Set[str]:
    """Return the names that packages add; warn of those that are taken, and are not added."""
    found = entry_points(group=ENTRY_POINTS)
    kept = taken | {point.name for point in found if _is_own(point)}
    for point in found:
        if point.name in kept and not _is_own(point):
            click.echo(
                f"Warning: the command `{point.name}` of the package {_package(point)} is not"
                " added: Ostiary has one of this name",
                err=True,
            )
    return found.names - taken


def _find_command(name: str) -> click.Command | None:
    """Return the command that a package adds by a name, or None.

    One that cannot be used is a command that says why.
    """
    found = list(entry_points(group=ENTRY_POINTS, name=name))
    found = [point for point in found if _is_own(point)] or found
    if not found:
        return None
    if len(found) > 1:
        packages = ", ".join(sorted(map(_package, found)))
        return unavailable(name, f"several packages add the command `{name}`: {packages}")
    return _load(found[0])


def _load(point: EntryPoint) -> click.Command:
    origin = f"the command `{point.name}` of the package {_package(point)}"
    try:
        command = point.load()
    # Whatever its modules raise; a script among them may exit.
    except (Exception, SystemExit) as error:
        return unavailable(point.name, f"{origin} cannot be imported: {describe_error(error)}")
    if not isinstance(command, click.Command):
        return unavailable(point.name, f"{origin} is no command of click: {point.value}")
    return command


def unavailable(name: str, problem: str) -> click.Command:
    """Return a command that is listed with a problem, and fails with it whatever its arguments."""

    def refuse(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(problem)

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        short_help=problem,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


def _is_own(point: EntryPoint) -> bool:
    return _package(point) == PRODUCT


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
