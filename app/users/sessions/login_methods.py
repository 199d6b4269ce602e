"""Login methods that accounts keep besides the password, such as identities at providers.

Features register those that they keep: somebody else may have added them to an account before its
owner proved the address, who is then shown them and may remove them. This module logs nobody in; a
new way to log in calls `login_identified` or `open_session` in `login.py`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from flask import Flask

from app.state import AppState
from app.users.models import User


class LoginMethod(NamedTuple):
    """A login method of an account, as its owner is asked about it."""

    # Unique within the account.
    key: str
    provider: str
    # Who it is at the provider; None if that is not known.
    name: str | None
    added: datetime


class LoginMethods(Protocol):
    """The login methods that a feature keeps."""

    def find_unproven(self, user: User, email: str) -> Sequence[LoginMethod]:
        """Return what was added to the account before its owner proved this address."""
        ...

    def remove_unproven(self, user: User, email: str, kept: Collection[str]) -> int:
        """Remove what was added before, except for these keys; return how many were removed.

        What stays is from now on the owner's, as long as the account has this address. Called in
        the transaction in which the owner proves it.
        """
        ...


_registered = AppState[list[LoginMethods]]("login methods", factory=lambda _app: [])


def register(app: Flask, logins: LoginMethods) -> None:
    """Register the login methods that a feature keeps."""
    _registered.of(app).append(logins)


def find_unproven(user: User, email: str) -> list[LoginMethod]:
    """Return what was added to the account before its owner proved this address."""
    return [login for logins in _registered.current for login in logins.find_unproven(user, email)]


def remove_unproven(user: User, email: str, kept: Collection[str] = ()) -> int:
    """Remove what was added before the owner of this address proved it, except for these keys.

    Returns how many were removed. Call it in the transaction of the proof.
    """
    return sum(logins.remove_unproven(user, email, kept) for logins in _registered.current)
