"""The commands `flask users`, `flask tokens` and `flask roles`."""

import sys
from collections.abc import Callable
from typing import Any

import click
import marshmallow
from flask import Flask
from flask.cli import AppGroup
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from app.access import roles as access_roles
from app.errors import to_validation_error

from . import accounts
from . import tokens as access_tokens
from .models import User
from .schemas import RegistrationSchema


class DatabaseCommands(AppGroup):
    """A group of commands that reports a database error as one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            hint = "`flask db upgrade` makes the tables"
            raise click.ClickException(f"The database failed: {reason} ({hint}).") from None


users = DatabaseCommands("users", help="Create, list and delete users.")
tokens = DatabaseCommands("tokens", help="Purge and revoke access tokens.")

roles = DatabaseCommands("roles", help="Grant, revoke and list roles.")

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
    user = _call_service(_register, {**given, "password": _read_password(password_stdin)})
    if role:
        access_roles.grant(user.id, role)
    click.echo(f"Created user {user.id}, {user.email}" + (f", with role {role}." if role else "."))


@users.command("list")
def list_() -> None:
    """List all users: id, email, username, realm, created."""
    for user in accounts.list_users():
        columns = (user.id, user.email, user.username, user.realm, user.created.isoformat())
        click.echo("\t".join(str(column or "-") for column in columns))


@users.command()
@click.argument("email")
@realm_option
@password_option
def set_password(email: str, realm: str | None, password_stdin: bool) -> None:
    """Give the user EMAIL a new password and end all its sessions."""
    user = _find_user(email, realm)
    _call_service(accounts.set_password, user, _read_password(password_stdin))
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
def list_roles() -> None:
    """List who holds which role: role, user id."""
    for role, user_id in access_roles.list_assignments():
        click.echo(f"{role}\t{user_id}")


def _read_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))


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


def _call_service(action: Callable[..., Any], *arguments: Any) -> Any:
    """Call a service; report an HTTP or validation error as one sentence."""
    try:
        return action(*arguments)
    except marshmallow.ValidationError as error:
        raise click.ClickException(str(to_validation_error(error).description)) from None
    except HTTPException as error:
        raise click.ClickException(str(error.description)) from None
