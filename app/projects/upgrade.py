"""The command `ostiary upgrade`."""

import click
from flask import current_app
from flask.cli import with_appcontext

STEPS = (["models", "check"], ["db", "upgrade"])


@click.command()
@with_appcontext
@click.pass_context
def upgrade(ctx: click.Context) -> None:
    """Check the project with this release, then migrate.

    If the project does not work with it, the command fails and does not change the database.
    """
    for arguments in STEPS:
        current_app.cli.main(arguments, standalone_mode=False, obj=ctx.obj)
