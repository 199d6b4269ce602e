"""Limits on failed attempts to log in, and to confirm a call by the password."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import InvalidPassword
from app.ids import Id
from app.observability.origin import current_network
from app.throttles.throttles import (
    LOGIN_ADDRESS,
    LOGIN_IDENTITY,
    PASSWORD_CHECK,
    clear,
    count_failure,
)
from app.users.models import User

from .hashing import find_form, hashing


@contextmanager
def login_attempt(realm: str, name: str, value: str) -> Iterator[None]:
    """Count an attempt to log in, which has failed if the block raises.

    Attempts are counted by the submitted identity, whether the user exists or not. Raises
    TooManyRequests, or TooManyHashes, which counts nothing.
    """
    identity = LOGIN_IDENTITY, realm, name, value
    with hashing(), count_failure(LOGIN_ADDRESS, current_network()), count_failure(*identity):
        yield


def check_password(user_id: Id, stored: str | None, password: str) -> None:
    """Require the password of a logged-in user; raise InvalidPassword if it is wrong.

    Raises TooManyRequests after too many wrong ones, or TooManyHashes; for a user without a
    password, InvalidPassword says so.
    """
    if stored is None:
        raise InvalidPassword("The account has no password; a password reset sets one.")
    with hashing(), count_failure(PASSWORD_CHECK, user_id):
        if find_form(stored, password) is None:
            raise InvalidPassword()


def forget_failures(user: User) -> None:
    """Forget failed attempts of a user whose password was set anew."""
    clear(LOGIN_IDENTITY, user.realm, "email", user.email)
    clear(LOGIN_IDENTITY, user.realm, "username_key", user.username_key)
    clear(PASSWORD_CHECK, user.id)
