"""The commands `ostiary roles` and `ostiary tokens`."""

import click

from app.access import roles as access_roles
from app.commands import CommandGroup, json_option, print_rows
from app.users.accounts import lookup
from app.users.models import User
from app.users.sessions import tokens as access_tokens
from app.users.user_models import has_several, user_models

from .arguments import check_roles, user_argument, warning_of_last_admin

roles = CommandGroup("roles", help="Grant, revoke and list roles.")
tokens = CommandGroup("tokens", help="Purge and revoke access tokens.")


@roles.command("grant")
@user_argument
@click.argument("role")
def grant_role(user: User, role: str) -> None:
    """Grant the role ROLE to the user EMAIL, from the next request on."""
    check_roles([role])
    done = access_roles.grant(user.id, role)
    click.echo(
        f"Granted {role} to user {user.id}." if done else f"User {user.id} has {role} already."
    )


@roles.command("revoke")
@user_argument
@click.argument("role")
def revoke_role(user: User, role: str) -> None:
    """Revoke the role ROLE from the user EMAIL, from the next request on."""
    with warning_of_last_admin():
        done = access_roles.revoke(user.id, role)
    if not done:
        raise click.ClickException(f"User {user.id} does not have the role {role}.")
    click.echo(f"Revoked {role} from user {user.id}.")


@roles.command("list")
@json_option
def list_roles(as_json: bool) -> None:
    """List who holds which role."""
    names: tuple[str, ...] = ("role", "userId", "email", "realm")
    holders = lookup.list_role_holders()
    if has_several():
        names = (*names, "model")
        rows = [(*row, user_models.current[type_].name) for *row, type_ in holders]
    else:
        rows = [row[:-1] for row in holders]
    print_rows(names, rows, as_json)


@tokens.command("purge")
def purge_tokens() -> None:
    """Delete all expired tokens."""
    click.echo(f"Purged {access_tokens.purge_tokens()} expired tokens.")


@tokens.command("revoke")
@user_argument
def revoke_tokens(user: User) -> None:
    """End all sessions of the user EMAIL."""
    click.echo(f"Revoked {access_tokens.destroy_all_tokens(user.id)} tokens of user {user.id}.")
