"""The commands `ostiary factors`, and the commands of `ostiary users` for second factors."""

from itertools import chain

import click

from app.commands import CommandGroup, json_option, print_rows
from app.users.commands.arguments import user_argument
from app.users.commands.users import users
from app.users.models import User

from . import kinds, steps
from .totp import service as totp

__all__ = ["factors", "users"]

FACTOR_COLUMNS = ("id", "kind", "name", "created", "lastUsed")

factors = CommandGroup("factors", help="Change the keys of second factors.")


@factors.command()
def rotate_keys() -> None:
    """Encrypt all secrets with the first key of FACTOR_KEYS; the other keys can then be removed."""
    click.echo(f"Encrypted {totp.rotate_keys()} secrets with the first key.")


@users.command("factors")
@user_argument
@json_option
def list_(user: User, as_json: bool) -> None:
    """List the second factors and passkeys of the user EMAIL."""
    own = ((kinds.TOTP, row) for row in totp.held.find_all(user.id))
    held = chain(own, kinds.list_factors(user.id))
    rows = ((row.id, kind, row.name, row.created, row.last_used) for kind, row in held)
    print_rows(FACTOR_COLUMNS, rows, as_json)


@users.command()
@user_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset_factors(user: User, yes: bool) -> None:
    """Remove all factors, passkeys and sessions of the user EMAIL, who has lost them."""
    if not yes:
        click.confirm(f"Remove all factors of user {user.id}, {user.email}?", abort=True)
    steps.reset_factors(user.id)
    click.echo(f"Removed the second factors of user {user.id}, and ended all sessions.")
