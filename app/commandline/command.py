"""The command group `ostiary`: commands for projects, of their apps, of packages, and Flask's."""

from importlib import import_module
from typing import Any

import click
from flask import Flask
from flask.cli import FlaskGroup, ScriptInfo, routes_command, shell_command

from app.config import ConfigurationError
from app.features import FEATURES, commands_of
from app.projects.folder import enter_project

from .packages import added_names, find_command

# Modules of commands that need no app, imported when called.
MODULES = {
    "dev": "app.commandline.dev",
    "new": "app.projects.new",
    "run": "app.commandline.run",
}
# Commands that need no project either, besides those of packages.
WITHOUT_PROJECT = {"new"}


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
        added = added_names(self.own_names)
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
        if name not in self.own_names and (added := find_command(name)):
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
