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

    A project that cannot be used with it stops the command, and leaves the database as it is.
    """
    for arguments in STEPS:
        current_app.cli.main(arguments, standalone_mode=False, obj=ctx.obj)
