"""Arguments and options of the commands for users."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from typing import Concatenate, ParamSpec

import click
from flask import current_app

from app.access.policy import roles_in_rules
from app.access.roles import check_role
from app.errors import quote
from app.users.accounts import lookup
from app.users.accounts.removal import has_admin
from app.users.models import User
from app.users.transfer.csv_files import from_text
from app.users.user_models import find_principal_type, properties_of

# Maximum realms in an error.
MAX_NAMED_REALMS = 5
NO_ADMIN = (
    "Warning: this was the last user with the role admin who could log in; `ostiary roles grant`"
    " gives it to another."
)

Options = ParamSpec("Options")

realm_option = click.option("--realm", help="The realm of the user.")
model_option = click.option(
    "--model", help="The model of the user, if there are several; by default the first."
)
password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of stdin."
)

property_option = click.option(
    "--property",
    "properties",
    metavar="NAME=VALUE",
    multiple=True,
    help="A property of USER_PROPERTIES: text as it is, anything else as JSON; may be repeated.",
)


def find_model(name: str | None) -> str:
    """Return the `principal_type` of a model by its name; None is the first one."""
    try:
        return find_principal_type(name)
    except LookupError as error:
        message = str(error)
        raise click.ClickException(f"{message[:1].upper()}{message[1:]}.") from None


def read_properties(given: Iterable[str], principal_type: str) -> dict[str, object]:
    """Return the JSON values of properties of a model given as `name=value`."""
    known = {declared.name: declared for declared in properties_of(principal_type)}
    values: dict[str, object] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or name not in known:
            names = ", ".join(known) or "none"
            raise click.ClickException(
                f"--property {quote(text)} is not NAME=VALUE; the names are {names}."
            )
        values[name] = from_text(known[name], value)
    return values


def read_password(from_stdin: bool) -> str:
    """Return the password: the first line of stdin, or the input at a prompt."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))


def user_argument(command: Callable[Concatenate[User, Options], None]) -> Callable[..., None]:
    """Give a command the argument EMAIL, and options; it is called with the user."""

    @click.argument("email")
    @realm_option
    @model_option
    @wraps(command)
    def run(
        email: str,
        realm: str | None,
        model: str | None,
        *args: Options.args,
        **options: Options.kwargs,
    ) -> None:
        command(find_user(email, realm, find_model(model)), *args, **options)

    return run


def find_user(email: str, realm: str | None, principal_type: str) -> User:
    """Return the user with this email; if missing, raise an error that names other realms."""
    user = lookup.find_user(email, realm, principal_type)
    if user is None:
        where = _where(email, realm, principal_type)
        raise click.ClickException(f"There is no user {email}{where}.")
    return user


def _where(email: str, realm: str | None, principal_type: str) -> str:
    """Return an error message about where the email exists and where it does not."""
    others = lookup.find_realms(email, principal_type)[:MAX_NAMED_REALMS]
    there = " or ".join(f"in realm {name}" if name else "without a realm" for name in others)
    hint = f"; there is one {there}" if there else ""
    if realm:
        return f" in realm {realm}{hint}"
    return f" without a realm{hint}" if hint else ""


@contextmanager
def warning_of_last_admin() -> Iterator[None]:
    """Warn if the block leaves no admin who can log in; commands may do that."""
    had_admin = has_admin()
    yield
    if had_admin and not has_admin():
        click.echo(NO_ADMIN, err=True)


def check_roles(names: Iterable[str]) -> None:
    """Raise an error for invalid role names; warn of roles that permit nothing."""
    known = roles_in_rules(current_app)
    for name in names:
        check_role(name)
        if name not in known:
            similar = get_close_matches(name, known, 1)
            hint = f"; did you mean {similar[0]}?" if similar else "."
            click.echo(f"Warning: no rule mentions the role {name}{hint}", err=True)
