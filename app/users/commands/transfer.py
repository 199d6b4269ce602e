"""The commands `ostiary users import` and `ostiary users export`."""

import os
import sys

import click
from flask.cli import with_appcontext

from app.users.transfer import exporting, importing
from app.users.transfer.csv_files import InvalidFileError

from .arguments import check_roles

STDOUT = "-"
HASHES_WARNING = (
    "Warning: whoever can read the hashes can try to guess the passwords. Keep the file secret, and"
    " delete it when it is no longer needed."
)
INTERRUPTED = (
    "{} of {} users were imported; `users import --skip-existing {}` goes on with the others."
)


@click.command("import")
@click.argument("path", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Only check the file.")
@click.option(
    "--skip-existing",
    is_flag=True,
    help="Leave out users whose email is there already: go on after an interruption.",
)
@with_appcontext
def import_(path: str, dry_run: bool, skip_existing: bool) -> None:
    """Import the users of the CSV file FILE, unless there is a problem with any of them.

    Line 1 names the columns: email and, optionally, username, realm, password or passwordHash,
    emailVerified, created, disabledAt, roles.
    """
    checked = _read(path, skip_existing)
    check_roles(sorted({role for user in checked.users for role in user["roles"]}))
    rest = f" {checked.skipped} were there already." if skip_existing else ""
    if dry_run:
        users = f"{len(checked.users)} users of {path}"
        click.echo(f"Checked {users}: all in order; nothing was imported.{rest}")
        return
    click.echo(f"Imported {_import(checked.users, path)} users from {path}.{rest}")


def _import(users: list[importing.NewUser], path: str) -> int:
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


@click.command()
@click.argument("path", metavar="FILE")
@click.option(
    "--with-password-hashes", "with_hashes", is_flag=True, help="Export hashes of passwords too."
)
@with_appcontext
def export(path: str, with_hashes: bool) -> None:
    """Export all users to the new CSV file FILE, or to stdout if it is `-`."""
    if with_hashes:
        click.echo(HASHES_WARNING, err=True)
    if path == STDOUT:
        count = exporting.export_users(sys.stdout, with_hashes)
    else:
        count = _write(path, with_hashes)
    click.echo(f"Exported {count} users to {path}.", err=path == STDOUT)


def _read(path: str, skip_existing: bool) -> importing.Checked:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            checked = importing.check_file(file, skip_existing)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}.") from None
    except InvalidFileError as error:
        raise click.ClickException(f"{path} cannot be imported: {error}.") from None
    for line, problem in checked.problems:
        click.echo(f"line {line}: {problem}", err=True)
    if count := checked.problem_count:
        raise click.ClickException(f"{path} has {count} problems; nothing was imported.")
    return checked


def _write(path: str, with_hashes: bool) -> int:
    """Write a new file that only its owner can read; delete it if that fails."""
    try:
        with open(path, "x", encoding="utf-8", newline="", opener=_open_private) as file:
            try:
                return exporting.export_users(file, with_hashes)
            except BaseException:
                os.unlink(path)
                raise
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
