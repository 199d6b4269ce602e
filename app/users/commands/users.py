"""The commands `ostiary users`."""

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from app.commands import CommandGroup, json_option, print_rows
from app.users.accounts import credentials, lookup, passwords, registration, removal
from app.users.models import User
from app.users.resource import users_collection
from app.users.transfer import exporting, importing
from app.users.transfer.csv_files import InvalidFileError
from app.users.user_models import has_several, properties_of, user_models

from . import arguments
from .arguments import (
    model_option,
    password_option,
    property_option,
    read_password,
    realm_option,
    user_argument,
)

if TYPE_CHECKING:
    from app.properties.properties import Property

users = CommandGroup("users", help="Create, list, change, import and export users.")
USER_COLUMNS = ("id", "email", "username", "realm", "emailVerified", "created", "disabledAt")
STDOUT = "-"
HASHES_WARNING = (
    "Warning: whoever can read the hashes can try to guess the passwords. Keep the file secret, and"
    " delete it when it is no longer needed."
)
INTERRUPTED = (
    "{} of {} users were imported; `users import --skip-existing {}` goes on with the others."
)


@users.command()
@click.argument("email")
@click.option("--username", help="A name to log in with, besides the email.")
@realm_option
@model_option
@click.option("--role", "roles", multiple=True, help="A role to grant; may be repeated.")
@property_option
@password_option
@click.option("--service", is_flag=True, help="A service account, which has no password.")
def create(
    email: str,
    username: str | None,
    realm: str | None,
    model: str | None,
    roles: tuple[str, ...],
    properties: tuple[str, ...],
    password_stdin: bool,
    service: bool,
) -> None:
    """Create the user EMAIL, even if REGISTRATION_OPEN is false."""
    principal_type = arguments.find_model(model)
    given = {
        "email": email,
        "username": username,
        "realm": realm,
        **arguments.read_properties(properties, principal_type),
    }
    schema = users_collection(principal_type).create_schema
    values = schema.load(given, partial=("password",)) | {"principal_type": principal_type}
    # Checked before the password is asked for.
    registration.check_new_user(**values)
    arguments.check_roles(roles)
    if service:
        user = registration.create_service_account(**values, roles=roles)
    else:
        password = read_password(password_stdin)
        # The operator is responsible for the address.
        user = registration.create_user(
            **values, password=password, roles=roles, email_verified=True
        )
    noun = "role" if len(roles) == 1 else "roles"
    with_roles = f", with {noun} {', '.join(roles)}" if roles else ""
    kind = "service account" if service else "user"
    click.echo(f"Created {kind} {user.id}, {user.email}{with_roles}.")


@users.command("list")
@model_option
@json_option
def list_(model: str | None, as_json: bool) -> None:
    """List all users, or those of a model with its properties."""
    if model is None and has_several():
        names: tuple[str, ...] = (*USER_COLUMNS, "model")
        rows = [(*_user_row(user, ()), _model_of(user)) for user in lookup.list_users()]
    else:
        principal_type = arguments.find_model(model)
        properties = _shown_properties(principal_type)
        names = (*USER_COLUMNS, *(declared.name for declared in properties))
        rows = [_user_row(user, properties) for user in lookup.list_users(principal_type)]
    print_rows(names, rows, as_json)


@users.command()
@user_argument
@password_option
def set_password(user: User, password_stdin: bool) -> None:
    """Set a new password for the user EMAIL and end all sessions."""
    passwords.set_password(user.id, read_password(password_stdin))
    click.echo(f"Set the password of user {user.id} and ended all sessions.")


@users.command()
@user_argument
def verify(user: User) -> None:
    """Mark the address of the user EMAIL as verified, without a mail: you vouch for it."""
    verified = f"The address of user {user.id}, {user.email}, is verified."
    click.echo(verified if credentials.vouch_for(user) else "It was verified before.")


@users.command()
@user_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(user: User, yes: bool) -> None:
    """Delete the user EMAIL, with all tokens and to-dos."""
    if not yes:
        click.confirm(f"Delete user {user.id}, {user.email}, with all to-dos?", abort=True)
    with arguments.warning_of_last_admin():
        removal.delete_user(user.id)
    click.echo(f"Deleted user {user.id}, {user.email}.")


@users.command()
@user_argument
def disable(user: User) -> None:
    """Bar the user EMAIL from logging in, and end all sessions; nothing is deleted."""
    disabled = f"Disabled user {user.id}, {user.email}, and ended all sessions."
    with arguments.warning_of_last_admin():
        done = removal.disable_user(user.id)
    click.echo(disabled if done else f"User {user.id} is disabled already.")


@users.command()
@user_argument
def enable(user: User) -> None:
    """Let the disabled user EMAIL log in again; earlier sessions stay ended."""
    done = removal.enable_user(user.id)
    enabled = f"Enabled user {user.id}, {user.email}."
    click.echo(enabled if done else f"User {user.id} is not disabled.")


@users.command("import")
@click.argument("path", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Only check the file.")
@click.option(
    "--skip-existing",
    is_flag=True,
    help="Leave out users whose email is there already: go on after an interruption.",
)
@model_option
def import_(path: str, dry_run: bool, skip_existing: bool, model: str | None) -> None:
    """Import the users of the CSV file FILE, unless there is a problem with any of them.

    Line 1 names the columns: email and, optionally, username, realm, password or passwordHash,
    emailVerified, created, disabledAt, roles.
    """
    checked = _read_file(path, skip_existing, arguments.find_model(model))
    arguments.check_roles(sorted({role for user in checked.users for role in user["roles"]}))
    rest = f" {checked.skipped} were there already." if skip_existing else ""
    if dry_run:
        counted = f"{len(checked.users)} users of {path}"
        click.echo(f"Checked {counted}: all in order; nothing was imported.{rest}")
        return
    click.echo(f"Imported {_import_users(checked.users, path)} users from {path}.{rest}")


@users.command()
@click.argument("path", metavar="FILE")
@click.option(
    "--with-password-hashes", "with_hashes", is_flag=True, help="Export hashes of passwords too."
)
@model_option
def export(path: str, with_hashes: bool, model: str | None) -> None:
    """Export all users of a model to the new CSV file FILE, or to stdout if it is `-`."""
    principal_type = arguments.find_model(model)
    if with_hashes:
        click.echo(HASHES_WARNING, err=True)
    if path == STDOUT:
        count = exporting.export_users(sys.stdout, with_hashes, principal_type)
    else:
        count = _write_file(path, with_hashes, principal_type)
    click.echo(f"Exported {count} users to {path}.", err=path == STDOUT)


def _shown_properties(principal_type: str) -> "list[Property]":
    return [declared for declared in properties_of(principal_type) if not declared.hidden]


def _model_of(user: User) -> str:
    """Return the name of a user's model."""
    return user_models.current[user.principal_type].name


def _user_row(user: User, properties: "Iterable[Property]") -> tuple[object, ...]:
    """Return the values of USER_COLUMNS, and of these properties."""
    realm = user.realm or None
    names = user.id, user.email, user.username, realm
    values = (declared.field().serialize(declared.column_name, user) for declared in properties)
    return *names, user.email_verified, user.created, user.disabled_at, *values


def _import_users(users: list[importing.NewUser], path: str) -> int:
    """Import users and return their number; if interrupted, say how to continue."""
    count, is_hidden = 0, not sys.stderr.isatty()
    try:
        with click.progressbar(
            length=len(users), label="Importing", file=sys.stderr, hidden=is_hidden
        ) as shown:
            for stored in importing.import_users(users):
                count += stored
                shown.update(stored)
    except BaseException:
        if count:
            click.echo(INTERRUPTED.format(count, len(users), path), err=True)
        raise
    return count


def _read_file(path: str, skip_existing: bool, principal_type: str) -> importing.Checked:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            checked = importing.check_file(file, skip_existing, principal_type)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}.") from None
    except InvalidFileError as error:
        raise click.ClickException(f"{path} cannot be imported: {error}.") from None
    for line, problem in checked.problems:
        click.echo(f"line {line}: {problem}", err=True)
    if count := checked.problem_count:
        raise click.ClickException(f"{path} has {count} problems; nothing was imported.")
    return checked


def _write_file(path: str, with_hashes: bool, principal_type: str) -> int:
    """Write a new file that only its owner can read; delete it if that fails."""
    try:
        with open(path, "x", encoding="utf-8", newline="", opener=_open_private) as file:
            try:
                return exporting.export_users(file, with_hashes, principal_type)
            except BaseException:
                os.unlink(path)
                raise
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
