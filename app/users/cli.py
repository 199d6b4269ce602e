"""The commands `flask users`, `flask tokens` and `flask roles`."""

import sys
from typing import Any

import click
from flask import Flask

from app.access import roles as access_roles
from app.commands import CommandGroup, json_option, print_rows

from . import accounts
from . import tokens as access_tokens
from .models import User
from .schemas import RegistrationSchema

users = CommandGroup("users", help="Create, list and delete users.")
tokens = CommandGroup("tokens", help="Purge and revoke access tokens.")

roles = CommandGroup("roles", help="Grant, revoke and list roles.")

USER_COLUMNS = ("id", "email", "username", "realm", "emailVerified", "created")

realm_option = click.option("--realm", help="The realm of the user.")
password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of stdin."
)


def init_app(app: Flask) -> None:
    """Register the commands."""
    app.cli.add_command(users)
    app.cli.add_command(tokens)
    app.cli.add_command(roles)


@users.command()
@click.argument("email")
@click.option("--username", help="A name to log in with, besides the email.")
@realm_option
@click.option("--role", help="A role to grant, such as admin.")
@password_option
def create(
    email: str, username: str | None, realm: str | None, role: str | None, password_stdin: bool
) -> None:
    """Create the user EMAIL, whatever REGISTRATION_OPEN says."""
    given = {"email": email, "username": username, "realm": realm}
    user = _register({**given, "password": _read_password(password_stdin)})
    if role:
        access_roles.grant(user.id, role)
    click.echo(f"Created user {user.id}, {user.email}" + (f", with role {role}." if role else "."))


@users.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all users."""
    print_rows(USER_COLUMNS, map(_user_row, accounts.list_users()), as_json)


@users.command()
@click.argument("email")
@realm_option
@password_option
def set_password(email: str, realm: str | None, password_stdin: bool) -> None:
    """Give the user EMAIL a new password and end all its sessions."""
    user = _find_user(email, realm)
    accounts.set_password(user, _read_password(password_stdin))
    click.echo(f"Set the password of user {user.id} and ended all sessions.")


@users.command()
@click.argument("email")
@realm_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(email: str, realm: str | None, yes: bool) -> None:
    """Delete the user EMAIL, with all tokens and to-dos."""
    user = _find_user(email, realm)
    if not yes:
        click.confirm(f"Delete user {user.id}, {user.email}, with all to-dos?", abort=True)
    accounts.delete_user(user.id)
    click.echo(f"Deleted user {user.id}, {user.email}.")


@tokens.command()
def purge() -> None:
    """Delete all expired tokens."""
    click.echo(f"Purged {access_tokens.purge_tokens()} expired tokens.")


@tokens.command()
@click.argument("email")
@realm_option
def revoke(email: str, realm: str | None) -> None:
    """End all sessions of the user EMAIL."""
    user = _find_user(email, realm)
    click.echo(f"Revoked {access_tokens.destroy_all_tokens(user.id)} tokens of user {user.id}.")


@roles.command()
@click.argument("email")
@click.argument("role")
@realm_option
def grant(email: str, role: str, realm: str | None) -> None:
    """Give the user EMAIL the role ROLE, from the next request on."""
    user = _find_user(email, realm)
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
    user = _find_user(email, realm)
    if not access_roles.revoke(user.id, role):
        raise click.ClickException(f"User {user.id} does not have the role {role}.")
    click.echo(f"Revoked {role} from user {user.id}.")


@roles.command("list")
@json_option
def list_roles(as_json: bool) -> None:
    """List who holds which role."""
    names = ("role", "userId", "email", "realm")
    print_rows(names, accounts.list_role_holders(), as_json)


def _read_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))


def _user_row(user: User) -> tuple[Any, ...]:
    """Return the values of USER_COLUMNS."""
    realm = user.realm or None
    return (user.id, user.email, user.username, realm, user.email_verified, user.created)


def _find_user(email: str, realm: str | None) -> User:
    user = accounts.find_user(email, realm)
    if user is None:
        raise click.ClickException(
            f"There is no user {email}" + (f" in realm {realm}." if realm else ".")
        )
    return user


def _register(given: dict[str, Any]) -> User:
    """Create a user from the fields of a registration."""
    return accounts.create_user(**RegistrationSchema().load(given))
