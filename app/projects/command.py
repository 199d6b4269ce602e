"""The command group `ostiary`: commands for a project, its app's commands, and Flask's."""

from importlib import import_module
from typing import Any

import click
from flask.cli import FlaskGroup, ScriptInfo, routes_command, shell_command

from app.config import ConfigurationError

from .folder import enter_project

# Modules of commands that need no app, imported when called.
MODULES = {
    "dev": "app.projects.dev",
    "loopback": "app.loopback.cli",
    "new": "app.projects.new",
    "run": "app.projects.run",
}
# Commands that need no project either.
WITHOUT_PROJECT = ["loopback", "new"]


class ProjectGroup(FlaskGroup):
    """Commands for the project in the current folder; outside of one, those that need none."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(add_default_commands=False, add_version_option=False, **extra)
        # The app is the project's, and `dev` replaces Flask's `run`.
        self.params = [option for option in self.params if option.name not in {"app", "debug"}]
        self.add_command(routes_command)
        self.add_command(shell_command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands available in this folder."""
        try:
            _enter()
        except click.ClickException:
            return WITHOUT_PROJECT
        try:
            ctx.ensure_object(ScriptInfo).load_app()
        except click.ClickException as error:
            error.show()
            return sorted(MODULES)
        return sorted({*MODULES, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command; raise ClickException if it needs a project and there is none."""
        if name not in WITHOUT_PROJECT:
            _enter()
        if name in MODULES:
            command: click.Command = getattr(import_module(MODULES[name]), name)
            return command
        return super().get_command(ctx, name)


def _enter() -> None:
    try:
        enter_project()
    except ConfigurationError as error:
        raise click.ClickException(str(error)) from None
