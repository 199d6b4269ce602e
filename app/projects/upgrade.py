"""The command `ostiary upgrade`."""

import click
from flask import current_app
from flask.cli import with_appcontext

# A release that the project does not work with leaves the database as it is.
STEPS = (["models", "check"], ["db", "upgrade"])


@click.command()
@with_appcontext
@click.pass_context
def upgrade(ctx: click.Context) -> None:
    """Check the project with this release of Ostiary, then migrate the database."""
    for arguments in STEPS:
        current_app.cli.main(arguments, standalone_mode=False, obj=ctx.obj)
