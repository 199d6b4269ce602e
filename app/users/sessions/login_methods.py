"""Login methods that accounts keep besides the password, such as identities at providers.

Features register those that they keep: somebody else may have added them to an account before its
owner proved the address, who is then shown them and may remove them. This module logs nobody in; a
new way to log in calls `login_identified` or `open_session` in `login.py`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from flask import Flask

from app.ids import Id
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

    def logs_in(self, user_id: Id, without: str) -> bool:
        """Tell whether a user can log in by one of them alone, but for the one with this key."""
        ...

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


def has_other(user: User, without: str) -> bool:
    """Tell whether a user can log in otherwise than by the login method with this key."""
    if user.password_hash is not None:
        return True
    return any(logins.logs_in(user.id, without) for logins in _registered.current)


def find_unproven(user: User, email: str) -> list[LoginMethod]:
    """Return what was added to the account before its owner proved this address."""
    return [login for logins in _registered.current for login in logins.find_unproven(user, email)]


def remove_unproven(user: User, email: str, kept: Collection[str] = ()) -> int:
    """Remove what was added before the owner of this address proved it, except for these keys.

    Returns how many were removed. Call it in the transaction of the proof.
    """
    return sum(logins.remove_unproven(user, email, kept) for logins in _registered.current)
