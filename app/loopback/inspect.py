"""The command `ostiary loopback inspect`."""

from pathlib import Path

import click

from .application import DEVELOPMENT, read_application


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--environment",
    default=DEVELOPMENT,
    show_default=True,
    help="The NODE_ENV whose files are merged.",
)
def inspect(folder: Path, environment: str) -> None:
    """Report what moves of the LoopBack application in DIR, and what is to be written."""
    application = read_application(folder, environment)
    click.echo(f"{len(application.models)} models")
