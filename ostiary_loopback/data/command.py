"""The rows of `ostiary loopback import --data`: options, the project's database, and the move."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
from alembic.util import CommandError
from flask import Flask
from flask.cli import ScriptInfo

from app.database.metadata import all_metadata
from app.database.session import db
from app.migrate.chains import MigrationError, project_chain
from app.migrate.generation import write_migration
from app.migrate.running import upgrade
from app.projects.folder import enter_project
from ostiary_loopback.application import Application

from .moved import Moved
from .moving import move_rows
from .users import Keep


@dataclass(frozen=True)
class DataOptions:
    """Where the rows are, and how they are moved."""

    source: str
    tokens: bool
    keep: Keep | None
    timezone: tzinfo


def _zone(_context: click.Context, _option: click.Parameter, name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise click.BadParameter(f"there is no time zone {name!r}, such as Europe/Berlin") from None


OPTIONS = (
    click.option(
        *("--data", "source"),
        metavar="SOURCE",
        help="Move the rows of a database (its URL), of a file of the memory connector, or of a"
        " folder of MongoDB dumps.",
    ),
    click.option("--no-tokens", is_flag=True, help="Leave access tokens out: all log in again."),
    click.option(
        "--keep",
        type=click.Choice(["newest", "oldest"]),
        help="Of users with one email or username, keep this one; without it none is moved.",
    ),
    click.option(
        *("--timezone", "zone"),
        default="UTC",
        metavar="NAME",
        callback=_zone,
        help="The zone of times without one, such as MySQL's.",
        show_default=True,
    ),
)


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for rows to a command, which gets them as one argument, `data`."""

    def call(
        source: str | None, no_tokens: bool, keep: Keep | None, zone: ZoneInfo, **others: Any
    ) -> None:
        data = DataOptions(source, not no_tokens, keep, zone) if source else None
        command(data=data, **others)

    call.__doc__ = command.__doc__
    call.__dict__.update(command.__dict__)
    for option in reversed(OPTIONS):
        option(call)
    return call


def import_rows(application: Application, data: DataOptions) -> Moved:
    """Move rows into the database of the project in the current folder.

    Its tables are created before, by the project's first migration if it has none. Raises
    ClickException, and ConfigurationError for a project that cannot be loaded.
    """
    enter_project()
    app = _load_app()
    try:
        with app.app_context():
            upgrade()
            chain = project_chain(app)
            if chain is not None and not chain.migrations:
                write_migration("models")
                upgrade()
    except (CommandError, MigrationError) as error:
        raise click.ClickException(str(error)) from None
    return _move(app, application, data)


def try_rows(application: Application, data: DataOptions, files: Mapping[str, str]) -> Moved:
    """Move rows into a database in a temporary folder, for a project of these files.

    It finds the rows that are refused, but not those that the project's own database has already.
    """
    with TemporaryDirectory(prefix="ostiary-import-") as temporary:
        folder = Path(temporary)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        variables = {"INSTANCE_PATH": temporary, "DATABASE_URL": f"sqlite:///{folder}/rows.sqlite"}
        with _environment(variables):
            app = _load_app()
            with app.app_context():
                all_metadata(app).create_all(db.engine)
            moved = _move(app, application, data)
            with app.app_context():
                db.engine.dispose()
    moved.dry_run, moved.refusals = True, None
    return moved


def _load_app() -> Flask:
    return click.get_current_context().ensure_object(ScriptInfo).load_app()


def _move(app: Flask, application: Application, data: DataOptions) -> Moved:
    return move_rows(
        app,
        application,
        data.source,
        tokens=data.tokens,
        keep=data.keep,
        timezone=data.timezone,
    )


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
