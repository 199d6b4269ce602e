"""The commands `ostiary changes`: what the log has, and a new epoch."""

import click
from sqlalchemy import func, select

from app.commands import CommandGroup, json_option, print_rows
from app.database.session import db

from . import log
from .models import Change

changes = CommandGroup("changes", help="Show the log of changes, and begin a new epoch.")


@changes.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the models that the log has changes of, with their number and times."""
    first, last = func.min(Change.created), func.max(Change.created)
    query = select(Change.model, func.count(), first, last).group_by(Change.model)
    rows = db.session.execute(query.order_by(Change.model)).all()
    print_rows(["model", "changes", "first", "last"], rows, as_json)


@changes.command("new-epoch")
def new_epoch() -> None:
    """Make all cursors unknown, after a database was restored; clients read their rows anew."""
    log.begin_epoch()
    click.echo("Began a new epoch: clients read their rows anew.")
