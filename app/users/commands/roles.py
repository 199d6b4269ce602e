"""The commands `flask roles`."""

import click

from app.access import roles as access_roles
from app.commands import CommandGroup, json_option, print_rows
from app.users.accounts import lookup

from .arguments import check_roles, find_user, realm_option

roles = CommandGroup("roles", help="Grant, revoke and list roles.")


@roles.command()
@click.argument("email")
@click.argument("role")
@realm_option
def grant(email: str, role: str, realm: str | None) -> None:
    """Give the user EMAIL the role ROLE, from the next request on."""
    user = find_user(email, realm)
    check_roles([role])
    done = access_roles.grant(user.id, role)
    click.echo(
        f"Granted {role} to user {user.id}." if done else f"User {user.id} has {role} already."
    )


@roles.command("revoke")
@click.argument("email")
@click.argument("role")
@realm_option
def revoke_role(email: str, role: str, realm: str | None) -> None:
    """Take the role ROLE from the user EMAIL, from the next request on."""
    user = find_user(email, realm)
    if not access_roles.revoke(user.id, role):
        raise click.ClickException(f"User {user.id} does not have the role {role}.")
    click.echo(f"Revoked {role} from user {user.id}.")


@roles.command("list")
@json_option
def list_roles(as_json: bool) -> None:
    """List who holds which role."""
    names = ("role", "userId", "email", "realm")
    print_rows(names, lookup.list_role_holders(), as_json)
