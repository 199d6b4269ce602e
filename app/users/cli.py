"""The commands `flask users`, `flask tokens` and `flask roles`."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click
from flask import Flask, current_app

from app.access import roles as access_roles
from app.access.policy import roles_in_rules
from app.commands import CommandGroup, json_option, print_rows

from . import accounts
from . import tokens as access_tokens
from .models import User
from .schemas import RegistrationSchema

users = CommandGroup("users", help="Create, list and delete users.")
tokens = CommandGroup("tokens", help="Purge and revoke access tokens.")

roles = CommandGroup("roles", help="Grant, revoke and list roles.")

USER_COLUMNS = ("id", "email", "username", "realm", "emailVerified", "created")
# Realms that an error names.
MAX_NAMED_REALMS = 5

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
@click.option("--role", "roles", multiple=True, help="A role to grant; may be repeated.")
@password_option
def create(
    email: str,
    username: str | None,
    realm: str | None,
    roles: tuple[str, ...],
    password_stdin: bool,
) -> None:
    """Create the user EMAIL, whatever REGISTRATION_OPEN says."""
    given = {"email": email, "username": username, "realm": realm}
    names = RegistrationSchema(only=given.keys()).load(given)
    # Before the password is asked.
    accounts.check_new_user(**names)
    _check_roles(roles)
    password = _read_password(password_stdin)
    # The operator vouches for the address.
    user = accounts.create_user(**names, password=password, roles=roles, email_verified=True)
    noun = "role" if len(roles) == 1 else "roles"
    with_roles = f", with {noun} {', '.join(roles)}" if roles else ""
    click.echo(f"Created user {user.id}, {user.email}{with_roles}.")


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
    _check_roles([role])
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
        raise click.ClickException(f"There is no user {email}{_where(email, realm)}.")
    return user


def _where(email: str, realm: str | None) -> str:
    """Say where there is no user with this email, and where there is one."""
    others = accounts.find_realms(email)[:MAX_NAMED_REALMS]
    there = " or ".join(f"in realm {each}" if each else "without a realm" for each in others)
    hint = f"; there is one {there}" if there else ""
    if realm:
        return f" in realm {realm}{hint}"
    return f" without a realm{hint}" if hint else ""


def _check_roles(names: Iterable[str]) -> None:
    """Refuse names that no role can have; warn of roles that permit nothing."""
    known = roles_in_rules(current_app)
    for name in names:
        access_roles.check_role(name)
        if name not in known:
            similar = get_close_matches(name, known, 1)
            hint = f"; did you mean {similar[0]}?" if similar else "."
            click.echo(f"Warning: no rule mentions the role {name}{hint}", err=True)
