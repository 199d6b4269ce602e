"""The commands `ostiary tokens`."""

import click

from app.commands import CommandGroup
from app.users.models import User
from app.users.sessions import tokens as access_tokens

from .arguments import user_argument

tokens = CommandGroup("tokens", help="Purge and revoke access tokens.")


@tokens.command()
def purge() -> None:
    """Delete all expired tokens."""
    click.echo(f"Purged {access_tokens.purge_tokens()} expired tokens.")


@tokens.command()
@user_argument
def revoke(user: User) -> None:
    """End all sessions of the user EMAIL."""
    click.echo(f"Revoked {access_tokens.destroy_all_tokens(user.id)} tokens of user {user.id}.")
