"""Groups of commands that report errors as one sentence, and print lists as a table or JSON.

Features declare their commands in `app/features.py`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module

import click
import marshmallow
from flask.cli import AppGroup
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from app.database.faults import error_reason, is_missing_table
from app.error_responses import to_validation_error
from app.errors import ValidationError
from app.times import iso_time

json_option = click.option("--json", "as_json", is_flag=True, help="Print an array of objects.")


class Commands(AppGroup):
    """The service's commands, imported when they are called.

    `modules` maps each command to its modules, where it has the same name: the one that declares
    it, and those that add commands to a group.
    """

    def __init__(self, modules: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*self._modules, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command from its module."""
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        *_, module = map(import_module, self._modules[cmd_name])
        command: click.Command = getattr(module, cmd_name)
        return command


class CommandGroup(AppGroup):
    """A group of commands that reports errors of the service or the database as one sentence."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except marshmallow.ValidationError as error:
            raise click.ClickException(f"{to_validation_error(error).sentences}.") from None
        except ValidationError as error:
            raise click.ClickException(f"{error.sentences}.") from None
        except HTTPException as error:
            raise click.ClickException(str(error.description)) from None
        except SQLAlchemyError as error:
            raise click.ClickException(_database_sentence(error)) from None


def print_rows(names: Sequence[str], rows: Iterable[Sequence[object]], as_json: bool) -> None:
    """Print rows as aligned columns under a header line, or as a JSON array."""
    if as_json:
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        # ASCII, so that no value can control the terminal.
        click.echo(json.dumps(objects, indent=2, default=_to_json))
        return
    lines = [names, *([_to_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())


def _to_json(value: object) -> object:
    return iso_time(value) if isinstance(value, datetime) else str(value)


def _to_cell(value: object) -> str:
    """Return a value as the text of a cell, with control characters escaped."""
    if value is None or value in ("", [], ()):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_to_cell, value))
    return _escape(iso_time(value) if isinstance(value, datetime) else str(value))


def _escape(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _database_sentence(error: SQLAlchemyError) -> str:
    hint = " (`ostiary db upgrade` makes the tables)" if is_missing_table(error) else ""
    return f"The database failed: {error_reason(error)}{hint}."
