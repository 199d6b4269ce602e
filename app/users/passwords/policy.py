"""The policy for new passwords."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution
from runpy import run_path

from flask import current_app

from app.errors import BLANK, TOO_COMMON, ValidationError

from .hashing import normal_form


def validate_password(password: str, *context: str | None, field: str = "password") -> None:
    """Raise ValidationError for a password that is too short, too long or easily guessed.

    Checks length and a blocklist, without composition rules (OWASP ASVS 6.2.1 to 6.2.11).
    `context` are the user's email and username, which must not be the password.
    """
    normal = normal_form(password)
    if violation := _check_length(normal) or _check_guesses(normal.lower(), context):
        raise ValidationError({field: [violation]})


def _check_length(password: str) -> str | None:
    shortest = current_app.config["PASSWORD_MIN_LENGTH"]
    longest = current_app.config["PASSWORD_MAX_LENGTH"]
    if not password:
        return BLANK
    if len(password) < shortest:
        return f"is too short (minimum is {shortest} characters)"
    if len(password) > longest:
        return f"is too long (maximum is {longest} characters)"
    return None


def _check_guesses(password: str, context: Iterable[str | None]) -> str | None:
    for name in context:
        if name and password in (name.lower(), name.lower().partition("@")[0]):
            return "must not be the email or the username"
    if current_app.config["PASSWORD_BLOCKLIST"] and password in _common_passwords():
        return TOO_COMMON
    return None


@cache
def _common_passwords() -> frozenset[str]:
    """Load the list on first use, because it is large and most processes do not need it.

    It is read directly: the package also loads other lists, which take 13 MiB.
    """
    path = distribution("zxcvbn").locate_file("zxcvbn/frequency_lists.py")
    return frozenset(run_path(str(path))["FREQUENCY_LISTS"]["passwords"])
