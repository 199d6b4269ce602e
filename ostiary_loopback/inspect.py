"""The command `ostiary loopback inspect`."""

from pathlib import Path

import click

from .application import DEVELOPMENT, read_application
from .javascript import findings
from .rendering import FORMATS
from .report import make_report


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
@click.option(
    "--environment",
    default=DEVELOPMENT,
    show_default=True,
    help="The NODE_ENV whose files are merged.",
)
def inspect(folder: Path, form: str, environment: str) -> None:
    """Report what moves of the LoopBack application in DIR, and what is to be written."""
    application = read_application(folder, environment)
    report = make_report(application, findings(application))
    for line in FORMATS[form](report):
        click.echo(line)
