"""The group of commands `ostiary loopback`."""

from importlib import import_module
from typing import Any, NamedTuple

import click

from app.commandline.command import unavailable
from app.config import require_extra
from app.problems import ConfigurationError


class _Place(NamedTuple):
    module: str
    function: str
    # Whether the command reads JavaScript.
    parses: bool = True


# The module of each command, which is imported when the command is called.
COMMANDS = {
    "inspect": _Place("ostiary_loopback.inspect", "inspect"),
    "import": _Place("ostiary_loopback.writing.cli", "import_application"),
    "todo": _Place("ostiary_loopback.writing.todo", "todo", parses=False),
    "compare": _Place("ostiary_loopback.compare.command", "compare", parses=False),
}


class LoopBackGroup(click.Group):
    """Commands that are imported when they are called, and report errors as one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, from its module."""
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name]
        if place.parses:
            try:
                require_extra("the command", "import", "tree_sitter", "tree_sitter_javascript")
            except ConfigurationError as error:
                return unavailable(cmd_name, str(error))
        command: click.Command = getattr(import_module(place.module), place.function)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            raise click.ClickException(str(error)) from None


@click.group("loopback", cls=LoopBackGroup)
def loopback() -> None:
    """Move a LoopBack 3 application over."""
